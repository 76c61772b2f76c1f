#include "lib/core/owner_wait.hpp"

#include <gtest/gtest.h>

namespace gar {
namespace {

using todo = owner_wait::todo;
using reason = owner_wait::reason;

plan plan_of(const char* text) {
  return bands::parse(text)->select(0);
}

const plan flag_10ms = plan_of("flag:park_us=100,backstop_us=10000");

owner_wait started(instant deadline = instant::never(), plan how = flag_10ms) {
  return owner_wait({how, {0}, deadline}, {0});
}

proto::completion_entry word_arrived(uint8_t kind = 3) {
  proto::completion_entry e{};
  e.kind = kind;
  e.parks = 7;
  e.slept_ns = 5;
  return e;
}

const instant ms1{1'000'000};

TEST(owner_wait, sleeps_until_gard_says_something) {
  owner_wait w = started();
  const auto step = w.next(ms1);
  EXPECT_EQ(step.what, todo::sleep);
  EXPECT_EQ(step.until, instant{100'000'000});
}

TEST(owner_wait, ends_only_after_the_authority_said_done) {
  owner_wait w = started();
  w.completed(word_arrived(2));
  ASSERT_EQ(w.next(ms1).what, todo::ask);
  w.answered(true, ms1);
  ASSERT_EQ(w.next(ms1).what, todo::end);
  EXPECT_FALSE(w.ending().failure);
  EXPECT_EQ(w.ending().kind, wait_kind::late);
  EXPECT_EQ(w.ending().parks, 7u);
  EXPECT_EQ(w.ending().slept, duration{5});
  EXPECT_TRUE(w.ending().by_gard);
  EXPECT_FALSE(w.ending().cancel_at_gard);
}

TEST(owner_wait, needs_no_question_when_the_owner_knows_the_target_done) {
  owner_wait w = started();
  proto::completion_entry e = word_arrived();
  e.confirmed = 1;
  w.completed(e);
  EXPECT_EQ(w.next(ms1).what, todo::end);
}

TEST(owner_wait, polls_in_place_after_an_early_word_with_pauses_up_to_the_backstop) {
  owner_wait w = started();
  w.completed(word_arrived());
  instant now = ms1;
  ASSERT_EQ(w.next(now).what, todo::ask);
  w.answered(false, now);
  for (uint64_t pause_us : {20u, 40u, 80u, 160u, 320u, 640u, 1280u, 2560u, 5120u, 10000u, 10000u}) {
    const auto step = w.next(now);
    ASSERT_EQ(step.what, todo::sleep);
    ASSERT_EQ(step.until, now + from_us(pause_us));
    now = step.until;
    ASSERT_EQ(w.next(now).what, todo::ask);
    w.answered(false, now);
  }
  now = w.next(now).until;
  ASSERT_EQ(w.next(now).what, todo::ask);
  w.answered(true, now);
  EXPECT_EQ(w.next(now).what, todo::end);
  EXPECT_EQ(w.ending().early_words, 1u);
  EXPECT_TRUE(w.early());
}

TEST(owner_wait, an_early_word_forgets_gard) {
  owner_wait w = started();
  w.completed(word_arrived());
  w.next(ms1);
  w.answered(false, ms1);
  w.lost();
  w.refused(errc::LimitWaits);
  EXPECT_EQ(w.next(ms1).what, todo::sleep);
}

TEST(owner_wait, asks_by_itself_when_gard_is_silent) {
  owner_wait w = started();
  const instant at{100'000'000};
  EXPECT_EQ(w.next(at - duration{1}).what, todo::sleep);
  ASSERT_EQ(w.next(at).what, todo::ask);
  w.answered(false, at);
  EXPECT_EQ(w.next(at).until, at + from_ms(100));
  ASSERT_EQ(w.next(at + from_ms(100)).what, todo::ask);
  w.answered(true, at + from_ms(100));
  ASSERT_EQ(w.next(at + from_ms(100)).what, todo::end);
  EXPECT_TRUE(w.ending().owner_backstop);
  EXPECT_TRUE(w.ending().cancel_at_gard);
  EXPECT_FALSE(w.ending().by_gard);
  EXPECT_EQ(w.ending().kind, wait_kind::parked);
}

TEST(owner_wait, the_owner_backstop_is_the_longest_sleep_and_two_backstops) {
  EXPECT_EQ(owner_backstop_of(flag_10ms), from_ms(100));
  EXPECT_EQ(owner_backstop_of(plan_of("flag:park_us=1,backstop_us=400000")), from_ms(800));
  EXPECT_EQ(owner_backstop_of(plan_of("flag:park_us=1,backstop_us=60000+predict:margin_us=0,"
                                      "min_sleep_us=0,max_sleep_us=90000,window=1")),
            from_ms(210));
}

TEST(owner_wait, being_asked_about_the_wait_puts_the_backstop_off) {
  owner_wait w = started();
  w.heard({60'000'000});
  EXPECT_EQ(w.next({100'000'000}).until, instant{160'000'000});
  w.heard({10'000'000});
  EXPECT_EQ(w.next({100'000'000}).until, instant{160'000'000});
}

TEST(owner_wait, a_failed_authority_ends_it_unchanged) {
  owner_wait w = started();
  w.next({100'000'000});
  w.answered(error(errc::Backend, {"cuEventQuery", "700"}, 700), {100'000'000});
  ASSERT_EQ(w.next(ms1).what, todo::end);
  EXPECT_EQ(w.ending().failure->os_number(), 700);
  EXPECT_TRUE(w.ending().cancel_at_gard);
}

TEST(owner_wait, gards_word_for_a_failure_is_asked_for_at_the_device) {
  for (uint16_t code : {uint16_t{8}, static_cast<uint16_t>(errc::TimedOut)}) {
    owner_wait w = started();
    proto::completion_entry e = word_arrived();
    e.code = code;
    w.completed(e);
    ASSERT_EQ(w.next(ms1).what, todo::ask);
    w.answered(false, ms1);
    EXPECT_EQ(w.next(ms1).what, todo::sleep);  // a lie: goes on asking
    EXPECT_FALSE(w.early());
    ASSERT_EQ(w.next(ms1 + from_us(20)).what, todo::ask);
    w.answered(error(errc::Backend, {"q", "1"}, 1), ms1);
    ASSERT_EQ(w.next(ms1).what, todo::end);
    EXPECT_EQ(w.ending().failure->code(), errc::Backend);
  }
}

TEST(owner_wait, the_deadline_asks_once_and_then_is_TimedOut) {
  owner_wait w = started({5'000'000});
  EXPECT_EQ(w.next(ms1).until, instant{7'000'000});  // gard's own answer comes first
  ASSERT_EQ(w.next({7'000'000}).what, todo::ask);
  w.answered(false, {7'000'000});
  ASSERT_EQ(w.next({7'000'000}).what, todo::end);
  EXPECT_EQ(w.ending().failure->code(), errc::TimedOut);
  EXPECT_EQ(w.ending().failure->arguments().at(0), "5ms");
  EXPECT_TRUE(w.ending().cancel_at_gard);
}

TEST(owner_wait, that_gard_ends_at_its_deadline_leaves_nothing_to_cancel) {
  owner_wait w = started({5'000'000});
  EXPECT_EQ(w.next({6'999'999}).what, todo::sleep);  // gard may still say so
  proto::completion_entry e = word_arrived();
  e.code = static_cast<uint16_t>(errc::TimedOut);
  w.completed(e);
  ASSERT_EQ(w.next({6'999'999}).what, todo::ask);
  w.answered(false, {6'999'999});
  ASSERT_EQ(w.next({6'999'999}).what, todo::end);
  EXPECT_EQ(w.ending().failure->code(), errc::TimedOut);
  EXPECT_FALSE(w.ending().cancel_at_gard);
}

TEST(owner_wait, done_at_the_deadline_is_done) {
  owner_wait w = started({5'000'000});
  ASSERT_EQ(w.next({7'000'000}).what, todo::ask);
  w.answered(true, {7'000'000});
  ASSERT_EQ(w.next({7'000'000}).what, todo::end);
  EXPECT_FALSE(w.ending().failure);
  EXPECT_TRUE(w.ending().cancel_at_gard);
}

TEST(owner_wait, a_word_that_was_there_before_is_early_when_the_work_is_not_done) {
  owner_wait w = started();
  w.word_seen();
  ASSERT_EQ(w.next(ms1).what, todo::ask);
  w.answered(false, ms1);
  EXPECT_TRUE(w.early());
  EXPECT_EQ(w.next(ms1).what, todo::sleep);
}

TEST(owner_wait, an_early_word_still_times_out) {
  owner_wait w = started({2'000'000});
  w.completed(word_arrived());
  w.next({1'999'999});
  w.answered(false, {1'999'999});
  EXPECT_EQ(w.next({1'999'999}).until, instant{2'000'000});
  ASSERT_EQ(w.next({2'000'000}).what, todo::ask);
  w.answered(false, {2'000'000});
  ASSERT_EQ(w.next({2'000'000}).what, todo::end);
  EXPECT_EQ(w.ending().failure->code(), errc::TimedOut);
  EXPECT_FALSE(w.ending().cancel_at_gard);
}

TEST(owner_wait, refusals_say_how_the_wait_goes_on) {
  const std::pair<errc, reason> rows[] = {
      {errc::LimitWaits, reason::limit},   {errc::LimitPerUser, reason::limit},
      {errc::StalePlan, reason::stale},    {errc::ShuttingDown, reason::lost},
      {errc::UnknownStream, reason::lost}, {errc::Cancelled, reason::lost},
  };
  for (const auto& [code, why] : rows) {
    owner_wait by_error = started();
    by_error.refused(code);
    ASSERT_EQ(by_error.next(ms1).what, todo::leave);
    EXPECT_EQ(by_error.leaving(), why);
    owner_wait by_completion = started();
    proto::completion_entry e{};
    e.code = static_cast<uint16_t>(code);
    by_completion.completed(e);
    ASSERT_EQ(by_completion.next(ms1).what, todo::leave);
    EXPECT_EQ(by_completion.leaving(), why);
  }
}

TEST(owner_wait, a_lost_gard_is_left_at_once) {
  owner_wait w = started();
  w.lost();
  ASSERT_EQ(w.next(ms1).what, todo::leave);
  EXPECT_EQ(w.leaving(), reason::lost);
}

TEST(owner_wait, news_between_question_and_answer_is_not_lost) {
  owner_wait w = started();
  ASSERT_EQ(w.next({100'000'000}).what, todo::ask);
  w.completed(word_arrived());
  w.answered(false, {100'000'000});
  EXPECT_EQ(w.next({100'000'000}).what, todo::ask);
}

}  // namespace
}  // namespace gar
