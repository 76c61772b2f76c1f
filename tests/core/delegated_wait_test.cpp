// Delegated waits through node, board and reactor, on virtual time: who is asked when, and how
// every wait ends.
#include "lib/core/delegated_wait.hpp"

#include <gtest/gtest.h>

#include "tests/core/node_world.hpp"

namespace gar::test {
namespace {

uint16_t number(errc code) {
  return static_cast<uint16_t>(code);
}

class delegated_wait : public testing::Test {
 protected:
  node_world world;
  node_world::client a = world.connect("a");
  proto::opened s = *world.open(a);
};

TEST_F(delegated_wait, completes_when_its_word_arrives) {
  world.say(a.id, a.wait_for(s, 1));
  world.run_to(from_ms(3));
  EXPECT_FALSE(world.completion(a.id));
  world.store(a, s, 1);
  const auto done = world.completion(a.id);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->code, 0);
  EXPECT_EQ(done->kind, proto::kind_parked);
  EXPECT_EQ(done->confirmed, 0);
  EXPECT_EQ(done->wait_ns, from_ms(3).ns);
  EXPECT_EQ(world.counts().completed, 1u);
  EXPECT_EQ(world.counts().pending, 0u);
}

TEST_F(delegated_wait, is_immediate_where_the_word_came_first) {
  world.store(a, s, 2);
  world.say(a.id, a.wait_for(s, 1));
  EXPECT_EQ(world.ended(a.id).kind, proto::kind_immediate);
}

TEST_F(delegated_wait, completes_each_target_the_moment_the_word_reaches_it) {
  world.say(a.id, a.wait_for(s, 1));
  world.say(a.id, a.wait_for(s, 2));
  world.say(a.id, a.wait_for(s, 3));
  world.store(a, s, 2);
  EXPECT_TRUE(world.completion(a.id));
  EXPECT_TRUE(world.completion(a.id));
  EXPECT_FALSE(world.completion(a.id));
}

TEST_F(delegated_wait, sends_completions_of_one_turn_in_one_message) {
  for (uint64_t n = 1; n <= 5; ++n) world.say(a.id, a.wait_for(s, n));
  world.store(a, s, 5);
  const auto message = world.heard<proto::completions>(a.id);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->entries.size(), 5u);
}

TEST_F(delegated_wait, with_a_lost_store_ends_by_the_owners_answer_in_one_backstop) {
  world.say(a.id, a.wait_for(s, 1));
  world.run_to(from_us(9'999));
  EXPECT_FALSE(world.heard<proto::probes>(a.id));
  world.run_to(from_ms(10));
  const auto probes = world.heard<proto::probes>(a.id);
  ASSERT_TRUE(probes);
  ASSERT_EQ(probes->entries.size(), 1u);
  EXPECT_EQ(probes->entries[0].sequence, 1u);
  world.answer(a, probes->entries[0], proto::probe_done);
  const auto done = world.completion(a.id);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->code, 0);
  EXPECT_EQ(done->kind, proto::kind_parked);
  EXPECT_EQ(done->confirmed, 1);
  EXPECT_EQ(done->backstop_queries, 1u);
  EXPECT_EQ(done->wait_ns, from_ms(10).ns);
  EXPECT_EQ(world.counts().lost_store, 1u);
  EXPECT_EQ(world.counts().waited_ns, from_ms(10).ns);
  EXPECT_EQ(world.decisions.statistics().of_kind(wait_kind::parked).count(), 1u);
  ASSERT_EQ(world.decisions.statistics().plans().size(), 1u);
  EXPECT_EQ(world.decisions.statistics().plans()[0].backstop_queries, 1u);
}

TEST_F(delegated_wait, ends_with_the_vendors_call_and_status_when_the_owner_says_failed) {
  world.say(a.id, a.wait_for(s, 1));
  world.run_to(from_ms(10));
  const auto probes = world.heard<proto::probes>(a.id);
  world.answer(a, probes->entries[0], proto::probe_failed, -719, "cuEventQuery");
  const auto failed = world.completion(a.id);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code, number(errc::Backend));
  EXPECT_EQ(failed->status, -719);
  EXPECT_STREQ(failed->call, "cuEventQuery");
  EXPECT_EQ(world.counts().failed, 1u);
}

TEST_F(delegated_wait, goes_on_when_the_owner_says_pending) {
  world.say(a.id, a.wait_for(s, 1));
  world.run_to(from_ms(10));
  world.answer(a, world.heard<proto::probes>(a.id)->entries[0], proto::probe_pending);
  EXPECT_FALSE(world.completion(a.id));
  world.run_to(from_ms(20));
  EXPECT_TRUE(world.heard<proto::probes>(a.id));
}

TEST_F(delegated_wait, asks_about_a_stream_once_at_a_time_and_silence_holds_up_nobody_else) {
  const proto::opened t = *world.open(a);
  world.say(a.id, a.wait_for(s, 1));
  world.say(a.id, a.wait_for(s, 2));
  world.say(a.id, a.wait_for(t, 1));
  world.run_to(from_ms(10));
  const auto probes = world.heard<proto::probes>(a.id);
  ASSERT_TRUE(probes);
  EXPECT_EQ(probes->entries.size(), 2u);  // one for each stream, in one message
  EXPECT_FALSE(world.heard<proto::probes>(a.id));
  world.run_to(from_ms(19));
  for (const proto::probe_entry& p : probes->entries) {
    if (p.stream == t.stream) world.answer(a, p, proto::probe_pending);
  }
  world.run_to(from_ms(20));
  const auto later = world.heard<proto::probes>(a.id);
  ASSERT_TRUE(later);
  ASSERT_EQ(later->entries.size(), 1u);  // s was not answered, so only t is asked about
  EXPECT_EQ(later->entries[0].stream, t.stream);
  world.store(a, s, 2);
  EXPECT_TRUE(world.completion(a.id));
  EXPECT_TRUE(world.completion(a.id));
}

TEST_F(delegated_wait, asks_for_the_next_wait_of_the_stream_as_soon_as_one_is_answered) {
  world.say(a.id, a.wait_for(s, 1));
  world.say(a.id, a.wait_for(s, 2));
  world.run_to(from_ms(10));
  const auto first = world.heard<proto::probes>(a.id);
  world.answer(a, first->entries[0], proto::probe_failed, 1, "x");
  const auto second = world.heard<proto::probes>(a.id);
  ASSERT_TRUE(second);
  EXPECT_NE(second->entries[0].sequence, first->entries[0].sequence);
  EXPECT_EQ(world.ended(a.id).code, number(errc::Backend));
  EXPECT_FALSE(world.completion(a.id));
}

TEST_F(delegated_wait, takes_done_for_every_wait_up_to_the_number) {
  world.say(a.id, a.wait_for(s, 2));
  world.run_to(from_ms(5));
  world.say(a.id, a.wait_for(s, 1));
  world.say(a.id, a.wait_for(s, 3));
  world.run_to(from_ms(10));
  world.answer(a, world.heard<proto::probes>(a.id)->entries[0], proto::probe_done);
  EXPECT_EQ(world.ended(a.id).confirmed, 1);
  EXPECT_EQ(world.ended(a.id).confirmed, 1);
  EXPECT_FALSE(world.completion(a.id));
}

TEST_F(delegated_wait, ignores_answers_that_are_doubled_made_up_or_late) {
  world.say(a.id, a.wait_for(s, 1));
  world.run_to(from_ms(10));
  proto::probe_entry p = world.heard<proto::probes>(a.id)->entries[0];
  proto::probe_entry made_up = p;
  made_up.probe_id += 1;
  world.answer(a, made_up, proto::probe_done);
  made_up = p;
  made_up.sequence += 5;
  world.answer(a, made_up, proto::probe_done);
  EXPECT_FALSE(world.completion(a.id));
  world.answer(a, p, proto::probe_pending);
  world.answer(a, p, proto::probe_done);
  EXPECT_FALSE(world.completion(a.id));
}

TEST_F(delegated_wait, is_asked_about_though_an_earlier_stream_of_the_slot_was_never_answered) {
  const proto::wait w = a.wait_for(s, 1);
  world.say(a.id, w);
  world.run_to(from_ms(10));
  ASSERT_TRUE(world.heard<proto::probes>(a.id));
  world.say(a.id, proto::cancel{w.cookie});
  ASSERT_TRUE(world.completion(a.id));
  world.say(a.id, proto::close{99, s.stream, s.stream_generation, 1});
  ASSERT_TRUE(world.heard<proto::closed>(a.id));
  const auto again = world.open(a);
  ASSERT_EQ(again->stream, s.stream);
  world.say(a.id, a.wait_for(*again, again->base + 1));
  world.run_to(from_ms(20));
  EXPECT_TRUE(world.heard<proto::probes>(a.id));
}

TEST_F(delegated_wait, passes_its_timeout_and_is_forgotten) {
  proto::wait w = a.wait_for(s, 1);
  w.timeout_ns = from_ms(4).ns;
  world.say(a.id, w);
  world.run_to(from_us(3'999));
  EXPECT_FALSE(world.completion(a.id));
  world.run_to(from_ms(4));
  EXPECT_EQ(world.ended(a.id).code, number(errc::TimedOut));
  EXPECT_FALSE(world.heard<proto::probes>(a.id));
  EXPECT_EQ(world.counts().timed_out, 1u);
  EXPECT_EQ(world.waits.board().waits(), 0u);
  world.say(a.id, w);  // the cookie is free again
  EXPECT_EQ(world.refused(a.id), 0);
}

TEST_F(delegated_wait, counts_its_age_into_timeout_and_report_and_clamps_it) {
  world.run_to(from_ms(20'000));
  proto::wait w = a.wait_for(s, 1);
  w.age_ns = from_ms(3).ns;
  w.timeout_ns = from_ms(4).ns;
  world.say(a.id, w);
  world.run_to(from_ms(20'001));
  EXPECT_EQ(world.ended(a.id).code, number(errc::TimedOut));
  w = a.wait_for(s, 1);
  w.age_ns = UINT64_MAX;
  world.say(a.id, w);
  world.store(a, s, 1);
  EXPECT_EQ(world.ended(a.id).wait_ns, proto::age_ns_max);
}

TEST_F(delegated_wait, ends_cancelled_once_when_it_is_cancelled) {
  const proto::wait w = a.wait_for(s, 1);
  world.say(a.id, w);
  world.say(a.id, proto::cancel{w.cookie});
  world.say(a.id, proto::cancel{w.cookie});
  world.say(a.id, proto::cancel{12345});
  EXPECT_EQ(world.ended(a.id).code, number(errc::Cancelled));
  EXPECT_FALSE(world.completion(a.id));
  EXPECT_EQ(world.counts().cancelled, 1u);
  EXPECT_EQ(world.refused(a.id), 0);
}

TEST_F(delegated_wait, is_dropped_and_counted_when_its_owner_is_gone) {
  auto other = world.connect("other");
  const auto t = world.open(other);
  world.say(a.id, a.wait_for(s, 1));
  world.say(a.id, a.wait_for(s, 2));
  world.say(other.id, other.wait_for(*t, 1));
  world.log.clear();
  world.decisions.disconnect(a.id);
  world.settle();
  EXPECT_EQ(world.counts().owner_gone, 2u);
  EXPECT_EQ(world.counts().pending, 1u);
  EXPECT_EQ(world.waits.board().waits(), 1u);
  EXPECT_EQ(world.waits.board().take_left(), std::vector<session_id>{a.id});
  EXPECT_FALSE(world.completion(a.id));
  ASSERT_EQ(world.log.size(), 1u);
  EXPECT_NE(world.log[0].find("'a'"), std::string::npos);
  world.store(other, *t, 1);
  EXPECT_TRUE(world.completion(other.id));
}

TEST_F(delegated_wait, counts_as_cancelled_when_its_owner_said_bye) {
  world.say(a.id, a.wait_for(s, 1));
  world.say(a.id, proto::bye{});
  EXPECT_EQ(world.counts().cancelled, 1u);
  EXPECT_EQ(world.counts().owner_gone, 0u);
  EXPECT_EQ(world.closed, std::vector<session_id>{a.id});
}

TEST_F(delegated_wait, ends_with_shutting_down_when_gard_stops_and_none_is_taken_after) {
  world.say(a.id, a.wait_for(s, 1));
  world.say(a.id, a.wait_for(s, 2));
  world.decisions.stop();
  world.waits.shut_down();
  world.settle();
  EXPECT_EQ(world.ended(a.id).code, number(errc::ShuttingDown));
  EXPECT_EQ(world.ended(a.id).code, number(errc::ShuttingDown));
  world.say(a.id, a.wait_for(s, 3));
  EXPECT_EQ(world.refused(a.id), number(errc::ShuttingDown));
  world.decisions.say_bye();
  world.settle();
  EXPECT_EQ(world.heard<proto::bye>(a.id)->code, number(errc::ShuttingDown));
  EXPECT_EQ(world.closed, std::vector<session_id>{a.id});
}

TEST_F(delegated_wait, is_cancelled_by_its_own_cookie_where_places_are_used_again) {
  for (int round = 0; round < 3; ++round) {
    const proto::wait first = a.wait_for(s, 100);
    const proto::wait second = a.wait_for(s, 100);
    const proto::wait third = a.wait_for(s, 100);
    for (const proto::wait& w : {first, second, third}) world.say(a.id, w);
    world.say(a.id, proto::cancel{second.cookie});
    EXPECT_EQ(world.ended(a.id).cookie, second.cookie);
    const proto::wait again = a.wait_for(s, 100);
    world.say(a.id, again);
    for (const proto::wait& w : {first, again, third}) {
      world.say(a.id, proto::cancel{w.cookie});
      EXPECT_EQ(world.ended(a.id).cookie, w.cookie);
    }
    EXPECT_FALSE(world.completion(a.id));
  }
  EXPECT_EQ(world.counts().pending, 0u);
  EXPECT_EQ(world.counts().cancelled, 12u);
}

TEST_F(delegated_wait, says_what_failed_to_each_wait_for_the_number_and_keeps_nothing_of_it) {
  for (int round = 1; round <= 2; ++round) {
    world.say(a.id, a.wait_for(s, 1));
    world.say(a.id, a.wait_for(s, 1));
    world.run_to(from_ms(10) + duration{world.clock.now().ns});
    const auto probes = world.heard<proto::probes>(a.id);
    ASSERT_TRUE(probes);
    world.answer(a, probes->entries[0], proto::probe_failed, -round, "cuEventQuery");
    for (int i = 0; i < 2; ++i) {
      const auto failed = world.ended(a.id);
      EXPECT_EQ(failed.status, -round);
      EXPECT_STREQ(failed.call, "cuEventQuery");
    }
  }
  world.say(a.id, a.wait_for(s, 1));
  world.store(a, s, 1);
  EXPECT_EQ(world.ended(a.id).code, 0);
}

TEST(delegated_waits, leave_nothing_of_them_at_the_reactor_when_they_go_first) {
  reactor host;
  const uint64_t word = 0;
  {
    delegated_waits waits(host);
    wait_start w;
    w.session = 1;
    w.word = memory_descriptor(word, 1);
    w.how.park = park_kind::flag;
    w.how.park_max = w.how.backstop = from_ms(1);
    for (; w.place < 3; ++w.place) {
      waits.start(w);
      host.run_ready();
    }
    ++w.place;
    waits.start(w);  // it has not run yet
    EXPECT_EQ(host.tasks(), 4u);
    EXPECT_EQ(host.armed(), 3u);
  }
  EXPECT_EQ(host.tasks() + host.armed() + host.timers(), 0u);
  EXPECT_FALSE(host.has_ready());
}

// An executor of several threads may see the word before it has the board, and the verdict come in
// between.
TEST(a_board, confirms_no_wait_by_a_verdict_that_it_failed) {
  const uint64_t word = 1;
  wait_trace trace;
  reactor_board board;
  board.trace_to(&trace);
  reactor_board::entry& e =
      board.add({.session = 7, .cookie = 1, .word = memory_descriptor(word, 1), .how = {}});
  board.trace_start(e, {});
  board.want_probe(e);
  const auto ends_nothing = [](const std::vector<wait_end>&) { ADD_FAILURE(); };
  proto::probe_entry asked{};
  board.flush(ends_nothing,
              [&](session_id, const auto&, const auto& probes) { asked = probes.at(0); });
  const proto::status_entry failed{asked.probe_id, 1, 0, 0, proto::probe_failed, {}, -1, {}};
  board.answer({7, failed}, [](reactor_board::entry&) {});
  EXPECT_EQ(e.said, reactor_board::verdict::failed);
  board.end(e, wait_report{});
  proto::completion_entry told{};
  wait_end noted;
  board.flush([&](const std::vector<wait_end>& ended) { noted = ended.at(0); },
              [&](session_id, const auto& completions, const auto&) { told = completions.at(0); });
  EXPECT_EQ(told.code, 0);
  EXPECT_EQ(told.confirmed, 0);
  EXPECT_FALSE(noted.lost_store);
  int traced = 0;
  trace.notified({});
  trace.take(1, [&](const traced_wait& t) { traced += t.confirmed ? 100 : 1; });
  EXPECT_EQ(traced, 1);
}

TEST_F(delegated_wait, is_refused_for_each_reason_in_the_documented_order) {
  const auto refusal_of = [&](proto::wait w) {
    world.say(a.id, w);
    return world.refused(a.id);
  };
  const proto::wait pending = a.wait_for(s, 1);
  EXPECT_EQ(refusal_of(pending), 0);
  proto::wait w = pending;
  EXPECT_EQ(refusal_of(w), number(errc::DuplicateCookie));
  w.point_number = 3;
  EXPECT_EQ(refusal_of(w), number(errc::UnknownPoint));
  w.stream_generation += 1;
  EXPECT_EQ(refusal_of(w), number(errc::UnknownStream));
  w = a.wait_for(s, 0);
  EXPECT_EQ(refusal_of(w), number(errc::TargetOutOfRange));
  w = a.wait_for(s, 1);
  w.plan_generation = 0;
  EXPECT_EQ(refusal_of(w), number(errc::StalePlan));
  EXPECT_EQ(world.counts().pending, 1u);
}

TEST(delegated_waits, are_limited_by_client_by_user_and_by_what_the_executor_can_run) {
  node_options o = world_options({.waits_per_client = 2, .waits_per_user = 3});
  o.waits_max = 4;
  node_world world(o);
  auto a = world.connect("a", 1);
  auto b = world.connect("b", 1);
  auto c = world.connect("c", 2);
  const auto s = world.open(a);
  const auto t = world.open(b);
  const auto u = world.open(c);
  const auto refusal_of = [&](node_world::client& who, const proto::opened& stream) {
    world.say(who.id, who.wait_for(stream, 1));
    return world.refused(who.id);
  };
  EXPECT_EQ(refusal_of(a, *s), 0);
  EXPECT_EQ(refusal_of(a, *s), 0);
  EXPECT_EQ(refusal_of(a, *s), number(errc::LimitWaits));
  EXPECT_EQ(refusal_of(b, *t), 0);
  EXPECT_EQ(refusal_of(b, *t), number(errc::LimitPerUser));
  EXPECT_EQ(refusal_of(c, *u), 0);
  EXPECT_EQ(refusal_of(c, *u), number(errc::LimitWaits));
  world.store(a, *s, 1);
  EXPECT_EQ(refusal_of(c, *u), 0);
}

// ---- estimates

class predicted_wait : public testing::Test {
 protected:
  predicted_wait() {
    EXPECT_TRUE(world.decisions
                    .plan_set({}, *bands::parse("flag:park_us=100,backstop_us=10000+predict:"
                                                "margin_us=150,min_sleep_us=20,"
                                                "max_sleep_us=50000,window=8"))
                    .has_value());
    a = world.connect("a");
    s = *world.open(a);
  }
  // One wait whose store comes `after` its start; where 0, it is left pending.
  void wait_once(duration after) {
    world.say(a.id, a.wait_for(s, ++target));
    if (!after) return;
    world.run_to(duration{world.clock.now().ns} + after);
    world.store(a, s, target);
  }
  node_world world;
  node_world::client a;
  proto::opened s;
  uint64_t target = 0;
};

TEST_F(predicted_wait, sleeps_by_the_least_of_its_streams_samples_less_the_margin) {
  for (const uint64_t us : {1000, 900, 1100}) {
    wait_once(from_us(us));
    // The last one slept to 750 us and saw the rest pending.
    EXPECT_EQ(world.ended(a.id).kind, proto::kind_parked);
  }
  wait_once(from_us(1000));
  const auto done = world.completion(a.id);
  EXPECT_EQ(done->slept_ns, from_us(750).ns);
}

TEST_F(predicted_wait, is_late_when_the_first_look_after_the_sleep_finds_it_done) {
  wait_once(from_us(1000));
  ASSERT_TRUE(world.completion(a.id));
  wait_once(from_us(300));
  EXPECT_FALSE(world.completion(a.id));  // asleep until 850 us
  world.run_to(duration{world.clock.now().ns} + from_us(550));
  const auto late = world.completion(a.id);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->kind, proto::kind_late);
  const auto points = world.decisions.points(std::nullopt);
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].predicted_ns, from_us(425).ns);
  EXPECT_EQ(points[0].kinds.late, 1u);
}

// The plan's margin is 150 us. Each sleep ends 400 us late, and no work is done before it has
// ended.
TEST_F(predicted_wait, sleeps_less_where_sleeps_before_it_ended_late) {
  world.waits.board().learn_sleeps(&world.decisions.sleeps());
  std::vector<duration> slept;
  wait_once(from_ms(4));
  ASSERT_TRUE(world.completion(a.id));
  for (int i = 0; i < 5; ++i) {
    const instant start = world.clock.now();
    wait_once({});
    world.clock.advance_to(world.host.earliest() + from_us(400));
    world.run_to(duration{start.ns} + from_ms(4));
    world.store(a, s, target);
    slept.push_back({world.ended(a.id).slept_ns});
  }
  EXPECT_EQ(slept[0], from_us(4000 - 150 + 400));
  EXPECT_EQ(slept[2], from_us(4000 - 150 + 400)) << "the plan's margin is still more";
  EXPECT_EQ(slept[3], from_us(4000 - 3 * 63 + 400));
  EXPECT_EQ(slept[4], from_us(4000 - 4 * 63 + 400));
}

// A client says how old its wait is. One that comes behind the end of its sleep sleeps no more, so
// it has seen nothing of how late sleeps end here: not for its own point, and not for others.
TEST_F(predicted_wait, that_came_too_late_to_sleep_teaches_nothing_about_sleeps) {
  world.waits.board().learn_sleeps(&world.decisions.sleeps());
  const duration floor = world.decisions.sleeps().floor();
  world.run_to(from_ms(20'000));
  wait_once(from_ms(4));
  ASSERT_TRUE(world.completion(a.id));
  for (int i = 0; i < 4; ++i) {
    proto::wait w = a.wait_for(s, ++target);
    w.age_ns = from_ms(9'000).ns;
    world.say(a.id, w);
    world.store(a, s, target);
    const auto done = world.ended(a.id);
    EXPECT_EQ(done.kind, proto::kind_parked);
    EXPECT_EQ(done.slept_ns, 0u);
  }
  EXPECT_EQ(world.decisions.sleeps().floor(), floor);
  EXPECT_EQ(world.decisions.points(std::nullopt)[0].predicted_ns, from_ms(4).ns);
}

TEST_F(predicted_wait, is_cancelled_out_of_its_sleep) {
  wait_once(from_ms(20));
  ASSERT_TRUE(world.completion(a.id));
  wait_once({});
  world.say(a.id, proto::cancel{a.cookies});
  EXPECT_EQ(world.ended(a.id).code, number(errc::Cancelled));
}

TEST_F(predicted_wait, learns_from_the_outcomes_of_waits_that_the_owner_ran) {
  proto::outcome_entry o{};
  o.stream = s.stream;
  o.stream_generation = s.stream_generation;
  o.kind = proto::kind_parked;
  o.sample = proto::sample_exact;
  o.sample_ns = from_us(2000).ns;
  world.say(a.id, proto::outcomes{{o}});
  o = {};
  o.stream = s.stream;
  o.what = proto::outcome_early_word;
  world.say(a.id, proto::outcomes{{o}});
  o.what = proto::outcome_refused;
  world.say(a.id, proto::outcomes{{o}});
  EXPECT_EQ(world.counts().completed, 1u);
  EXPECT_EQ(world.counts().early_word, 1u);
  EXPECT_EQ(world.counts().refused, 1u);
  wait_once(from_us(3000));
  EXPECT_EQ(world.ended(a.id).slept_ns, from_us(1850).ns);
}

TEST_F(predicted_wait, keeps_the_estimates_of_points_and_streams_apart) {
  world.say(a.id, proto::point{1, "slow"});
  proto::wait w = a.wait_for(s, ++target);
  w.point_number = 1;
  world.say(a.id, w);
  world.run_to(from_ms(5));
  world.store(a, s, target);
  ASSERT_TRUE(world.completion(a.id));
  wait_once(from_us(500));
  EXPECT_EQ(world.ended(a.id).slept_ns, 0u);
}

// ---- a word that is its own authority

TEST(word_authority, runs_block_at_gard_until_the_word_says_done) {
  node_world world;
  ASSERT_TRUE(world.decisions.plan_set({}, *bands::parse("block")).has_value());
  auto a = world.connect("a");
  const auto s = world.open(a, proto::authority_word);
  world.say(a.id, a.wait_for(*s, 1));
  world.run_to(from_ms(500));
  EXPECT_FALSE(world.completion(a.id));
  EXPECT_FALSE(world.heard<proto::probes>(a.id));
  world.store(a, *s, 1);
  const auto done = world.completion(a.id);
  EXPECT_EQ(done->kind, proto::kind_blocked);
  EXPECT_EQ(done->confirmed, 1);
}

TEST(word_authority, looks_at_a_polled_word_in_each_turn) {
  node_world world;
  ASSERT_TRUE(world.decisions.plan_set({}, *bands::parse("poll")).has_value());
  world.polls_are_running();
  auto a = world.connect("a");
  const auto s = world.open(a, proto::authority_word);
  proto::wait w = a.wait_for(*s, 1);
  world.say(a.id, w);
  EXPECT_TRUE(world.host.has_ready());
  EXPECT_FALSE(world.completion(a.id));
  world.store(a, *s, 1);
  world.settle();
  EXPECT_EQ(world.ended(a.id).kind, proto::kind_parked);
  w = a.wait_for(*s, 2);
  world.say(a.id, w);
  world.say(a.id, proto::cancel{w.cookie});
  world.settle();
  EXPECT_EQ(world.ended(a.id).code, number(errc::Cancelled));
}

// A client could let its word run backwards on purpose, to make gard burn a core.
class word_that_ran_backwards : public testing::Test {
 protected:
  void SetUp() override {
    world.say(a.id, a.wait_for(s, 5));
    flap();
  }
  // gard has seen it, and finds it gone when it asks.
  void flap() {
    proto::store_word(word, 5);
    world.host.look();
    proto::store_word(word, 4);
    world.host.run_ready();
  }
  uint64_t polls() { return world.host.statistics().polls; }

  node_world world;
  node_world::client a = world.connect("a");
  proto::opened s = *world.open(a, proto::authority_word);
  uint64_t& word = world.pages.at(a.id)[0][s.line_index * 8u + s.slot];
};

TEST_F(word_that_ran_backwards, is_looked_at_by_time_alone_however_often_it_does_so_again) {
  world.host.take_expecting();
  const uint64_t before = polls();
  for (int i = 0; i < 100; ++i) flap();
  EXPECT_EQ(polls(), before);
  EXPECT_FALSE(world.host.take_expecting());
}

TEST_F(word_that_ran_backwards, is_looked_at_more_and_more_seldom_up_to_the_backstop) {
  const uint64_t before = polls();
  world.run_to(from_ms(10));
  EXPECT_LE(polls() - before, 10u);
  const uint64_t later = polls();
  world.run_to(from_ms(100));
  EXPECT_LE(polls() - later, 9u);
  EXPECT_GE(polls() - later, 8u);
}

TEST_F(word_that_ran_backwards, ends_its_wait_when_it_is_back_and_is_cancelled_at_once) {
  world.store(a, s, 5);
  world.run_to(from_us(20));
  EXPECT_EQ(world.ended(a.id).kind, proto::kind_parked);
  proto::store_word(word, 4);
  const proto::wait w = a.wait_for(s, 5);
  world.say(a.id, w);
  flap();
  world.say(a.id, proto::cancel{w.cookie});
  EXPECT_EQ(world.ended(a.id).code, number(errc::Cancelled));
}

TEST(word_authority, of_a_word_that_ran_backwards_still_times_out) {
  node_world world;
  auto a = world.connect("a");
  const auto s = world.open(a, proto::authority_word);
  proto::wait w = a.wait_for(*s, 5);
  w.timeout_ns = from_ms(3).ns;
  world.say(a.id, w);
  uint64_t& word = world.pages.at(a.id)[0][s->line_index * 8u + s->slot];
  proto::store_word(word, 5);
  world.host.look();
  proto::store_word(word, 4);
  world.run_to(from_ms(3));
  EXPECT_EQ(world.ended(a.id).code, number(errc::TimedOut));
}

TEST(word_authority, never_asks_the_owner) {
  node_world world;
  auto a = world.connect("a");
  const auto s = world.open(a, proto::authority_word);
  proto::wait w = a.wait_for(*s, 1);
  w.timeout_ns = from_ms(100).ns;
  world.say(a.id, w);
  world.run_to(from_ms(100));
  EXPECT_FALSE(world.heard<proto::probes>(a.id));
  EXPECT_EQ(world.ended(a.id).code, number(errc::TimedOut));
}

TEST_F(delegated_wait, is_traced_from_where_it_came_to_where_its_client_was_told) {
  wait_trace trace;
  world.waits.board().trace_to(&trace);
  proto::wait w = a.wait_for(s, 1);
  w.age_ns = 400;
  world.run_to(from_ms(1));
  world.say(a.id, w);
  world.run_to(from_ms(3));
  world.store(a, s, 1);
  EXPECT_EQ(world.ended(a.id).code, 0);
  trace.notified(world.clock.now() + duration{50});
  std::vector<traced_wait> traced;
  trace.take(10, [&](const traced_wait& t) { traced.push_back(t); });
  ASSERT_EQ(traced.size(), 1u);
  EXPECT_EQ(traced[0].session, a.id);
  EXPECT_EQ(traced[0].start, instant{} + from_ms(1) - duration{400});
  EXPECT_EQ(traced[0].registered, instant{} + from_ms(1));
  EXPECT_EQ(traced[0].seen, instant{} + from_ms(3));
  EXPECT_EQ(traced[0].notified, instant{} + from_ms(3) + duration{50});
  EXPECT_EQ(traced[0].kind, wait_kind::parked);
  EXPECT_FALSE(traced[0].confirmed);
}

TEST_F(delegated_wait, that_failed_is_traced_with_its_number) {
  wait_trace trace;
  world.waits.board().trace_to(&trace);
  proto::wait w = a.wait_for(s, 1);
  w.timeout_ns = from_ms(2).ns;
  world.say(a.id, w);
  world.run_to(from_ms(2));
  trace.notified(world.clock.now());
  std::vector<traced_wait> traced;
  trace.take(10, [&](const traced_wait& t) { traced.push_back(t); });
  ASSERT_EQ(traced.size(), 1u);
  EXPECT_EQ(traced[0].code, number(errc::TimedOut));
  EXPECT_EQ(traced[0].seen, instant{} + from_ms(2));
}

}  // namespace
}  // namespace gar::test
