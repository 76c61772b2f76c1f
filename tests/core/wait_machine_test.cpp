// The order of a wait, told what happened by hand. What a whole wait does is in wait_test.cpp.
#include "lib/core/wait_machine.hpp"

#include <gtest/gtest.h>

namespace gar {
namespace {

using verb = wait_step::verb;

constexpr instant at_us(uint64_t us) {
  return instant{} + from_us(us);
}

wait_terms flag_terms() {
  return {.start = at_us(0),
          .deadline = at_us(5000),
          .sleep = from_us(100),
          .park_max = from_us(300),
          .backstop = from_us(1000),
          .park = park_kind::flag};
}

TEST(wait_machine, arms_sleeps_and_parks_up_to_its_backstop) {
  const wait_terms how = flag_terms();
  wait_machine m;
  EXPECT_EQ(m.begin(how).what, verb::query);
  EXPECT_EQ(m.answered(how, false, at_us(10)).what, verb::arm);
  const wait_step sleep = m.armed(how, at_us(20));
  EXPECT_EQ(sleep.what, verb::sleep);
  EXPECT_EQ(sleep.until, at_us(100)) << "from the start of the wait";
  EXPECT_EQ(m.slept(how, at_us(110)).what, verb::query);
  EXPECT_FALSE(m.asked_behind_park());
  const wait_step park = m.answered(how, false, at_us(110));
  EXPECT_EQ(park.what, verb::park);
  EXPECT_EQ(park.bound.park, from_us(300));
  EXPECT_EQ(park.bound.backstop, from_us(1000));
  EXPECT_EQ(m.parked(how, {false, 3}, at_us(1010)).bound.park, from_us(100));
  EXPECT_EQ(m.parked(how, {false, 1}, at_us(1110)).what, verb::query);
  EXPECT_TRUE(m.asked_behind_park());
  EXPECT_EQ(m.answered(how, true, at_us(1120)).what, verb::ended);
  const wait_report r = m.report(how, at_us(1120));
  EXPECT_EQ(r.kind, wait_kind::parked);
  EXPECT_EQ(r.sample, sample::exact(from_us(1120)));
  EXPECT_EQ(r.slept, from_us(90));
  EXPECT_EQ(r.parks, 4u);
  EXPECT_EQ(r.backstop_queries, 1u);
}

TEST(wait_machine, goes_on_to_the_park_where_its_sleep_is_over_before_it_began) {
  const wait_terms how = flag_terms();
  for (const uint64_t us : {100, 4000, 5000}) {
    wait_machine m;
    m.begin(how);
    m.answered(how, false, at_us(10));
    const wait_step next = m.armed(how, at_us(us));
    EXPECT_EQ(next.what, us < 5000 ? verb::park : verb::query);
    EXPECT_EQ(m.asked_behind_park(), us == 5000) << "the deadline's last query";
  }
  wait_machine m;
  m.begin(how);
  m.answered(how, false, at_us(10));
  EXPECT_EQ(m.armed(how, at_us(99)).what, verb::sleep);
}

TEST(wait_machine, asks_once_more_at_its_deadline_and_then_never) {
  const wait_terms how = flag_terms();
  for (const bool done : {false, true}) {
    wait_machine m;
    m.begin(how);
    m.answered(how, false, at_us(10));
    m.armed(how, at_us(10));
    m.slept(how, at_us(100));
    EXPECT_EQ(m.answered(how, false, at_us(5000)).what, verb::query);
    EXPECT_EQ(m.answered(how, done, at_us(5001)).what, done ? verb::ended : verb::timed_out);
    EXPECT_EQ(m.doing(), done ? verb::ended : verb::timed_out);
  }
}

TEST(wait_machine, polls_where_the_word_came_before_the_authority_agrees) {
  wait_terms how = flag_terms();
  how.sleep = {};
  wait_machine m;
  m.begin(how);
  m.answered(how, false, at_us(0));
  EXPECT_EQ(m.armed(how, at_us(0)).what, verb::park);
  EXPECT_EQ(m.parked(how, {true, 1}, at_us(50)).what, verb::query);
  EXPECT_EQ(m.answered(how, false, at_us(50)).what, verb::poll);
  EXPECT_EQ(m.answered(how, true, at_us(60)).what, verb::ended);
  EXPECT_EQ(m.report(how, at_us(60)).early_words, 1u);
}

TEST(wait_machine, does_nothing_but_block_under_such_a_plan) {
  wait_terms how = flag_terms();
  how.park = park_kind::block;
  wait_machine m;
  EXPECT_EQ(m.begin(how).what, verb::block);
  EXPECT_EQ(m.answered(how, true, at_us(70)).what, verb::ended);
  EXPECT_EQ(m.report(how, at_us(70)).sample, sample::none());
  wait_machine other;
  other.begin(how);
  EXPECT_EQ(other.answered(how, false, at_us(5000)).what, verb::timed_out);
}

}  // namespace
}  // namespace gar
