// What a client asks through its ring, and how it hears of the end; also what no client should ask.
#include "lib/core/ring_intake.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <random>

#include "tests/core/ring_world.hpp"

namespace gar::test {
namespace {

class a_ring : public testing::Test {
 protected:
  void SetUp() override {
    a = rings.connect();
    s = *world.open(a.base);
  }
  uint16_t code_of(errc e) { return static_cast<uint16_t>(e); }

  ring_world rings;
  node_world& world = rings.world;
  ring_world::client a;
  proto::opened s;
};

TEST_F(a_ring, is_told_in_the_welcome_to_those_who_ask_for_one) {
  EXPECT_EQ(a.base.welcome.features, proto::feature_ring);
  EXPECT_EQ(a.base.welcome.ring_entries, 64u);
  const node_world::client without = world.connect("b");
  EXPECT_EQ(without.welcome.features, 0u);
  EXPECT_EQ(without.welcome.ring_entries, 0u);
  EXPECT_EQ(world.decisions.clients({}, world.clock.now())[0].notification, "ring");
  EXPECT_EQ(world.decisions.clients({}, world.clock.now())[1].notification, "socket");
}

TEST_F(a_ring, ends_a_wait_in_its_slot_when_the_word_arrives) {
  rings.ask(a, 5, s, 1);
  ASSERT_TRUE(rings.take(a));
  EXPECT_EQ(world.counts().pending, 1u);
  EXPECT_EQ(rings.ended(a).first, -1);
  world.clock.advance_to(instant{} + from_us(70));
  world.store(a.base, s, 1);
  const auto [slot, end] = rings.ended(a);
  EXPECT_EQ(slot, 5);
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(end.kind, proto::kind_parked);
  EXPECT_EQ(end.confirmed, 0);
  EXPECT_EQ(end.wait_ns, 70'000u);
  EXPECT_EQ(world.counts().completed, 1u);
  EXPECT_EQ(world.counts().pending, 0u);
  EXPECT_FALSE(world.completion(a.id())) << "nothing by the socket";
}

TEST_F(a_ring, takes_a_slot_again_as_soon_as_its_end_was_read) {
  for (uint64_t n = 1; n <= 300; ++n) {
    rings.ask(a, 7, s, n);
    ASSERT_TRUE(rings.take(a));
    world.store(a.base, s, n);
    ASSERT_EQ(rings.ended(a).first, 7) << n;
  }
  EXPECT_EQ(world.counts().completed, 300u);
}

TEST_F(a_ring, holds_as_many_waits_as_it_has_slots) {
  for (uint16_t slot = 0; slot < 64; ++slot) rings.ask(a, slot, s, 1 + slot);
  ASSERT_TRUE(rings.take(a));
  EXPECT_EQ(world.counts().pending, 64u);
  world.store(a.base, s, 64);
  std::set<int> ended;
  for (int i = 0; i < 64; ++i) ended.insert(rings.ended(a).first);
  EXPECT_EQ(ended.size(), 64u);
  EXPECT_EQ(rings.ended(a).first, -1);
}

TEST_F(a_ring, answers_a_refusal_in_the_slot_and_not_by_the_socket) {
  rings.ask(a, 1, s, 0);  // not above its base
  rings.ask(a, 2, s, 1);
  a.ring->slot(2).request.plan_generation = 77;
  rings.ask(a, 3, s, 1);
  a.ring->slot(3).request.stream = 9;
  rings.ask(a, 4, s, 1);
  a.ring->slot(4).request.point = 3;
  ASSERT_TRUE(rings.take(a));
  for (const errc expected :
       {errc::TargetOutOfRange, errc::StalePlan, errc::UnknownStream, errc::UnknownPoint}) {
    EXPECT_EQ(rings.ended(a).second.code, code_of(expected));
  }
  EXPECT_EQ(world.refused(a.id()), 0);
  EXPECT_EQ(world.counts().pending, 0u);
}

TEST_F(a_ring, names_a_point_for_the_wait_behind_it) {
  a.ring->submit_point(3, 1, "step");
  rings.ask(a, 4, s, 1);
  a.ring->slot(4).request.point = 1;
  ASSERT_TRUE(rings.take(a));
  EXPECT_EQ(rings.ended(a).first, 3);
  EXPECT_EQ(a.ring->slot(3).completion.code, 0);
  world.store(a.base, s, 1);
  EXPECT_EQ(rings.ended(a).first, 4);
  const auto points = world.decisions.points({});
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].point, "step");
  EXPECT_EQ(points[0].waits, 1u);
}

TEST_F(a_ring, cancels_what_is_in_flight_and_nothing_else) {
  rings.ask(a, 1, s, 1);
  ASSERT_TRUE(rings.take(a));
  a.ring->submit(1, proto::submit_cancel);
  a.ring->submit(2, proto::submit_cancel);
  ASSERT_TRUE(rings.take(a));
  const auto [slot, end] = rings.ended(a);
  EXPECT_EQ(slot, 1);
  EXPECT_EQ(end.code, code_of(errc::Cancelled));
  EXPECT_EQ(rings.ended(a).first, -1);
  a.ring->submit(1, proto::submit_cancel);  // its end was on the way
  EXPECT_TRUE(rings.take(a));
  EXPECT_EQ(world.counts().cancelled, 1u);
}

TEST_F(a_ring, wakes_once_for_all_that_a_look_ended_and_only_who_wants_it) {
  ring_world::client b = rings.connect("b");
  const proto::opened of_b = *world.open(b.base);
  for (uint16_t slot = 0; slot < 8; ++slot) rings.ask(a, slot, s, 1);
  rings.ask(b, 0, of_b, 1);
  ASSERT_TRUE(rings.take(a) && rings.take(b));
  a.ring->header().wants = proto::wants_futex;
  world.store(a.base, s, 1);
  world.store(b.base, of_b, 1);
  ASSERT_EQ(world.wakes.size(), 1u);
  EXPECT_EQ(world.wakes[0].first, a.id());
  EXPECT_EQ(world.wakes[0].second, proto::wants_futex);
  EXPECT_EQ(a.ring->header().wants, 0u);
  EXPECT_EQ(a.ring->header().complete_tail, 8u);
}

TEST_F(a_ring, says_how_often_it_was_looked_at_for_nothing) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(rings.take(a));
  EXPECT_EQ(a.seat->fruitless, 5u);
  rings.ask(a, 0, s, 1);
  ASSERT_TRUE(rings.take(a));
  EXPECT_EQ(a.seat->fruitless, 0u);
  ASSERT_TRUE(rings.take(a));
  a.ring->add_outcome({});
  ASSERT_TRUE(rings.take(a));
  EXPECT_EQ(a.seat->fruitless, 0u);
}

TEST_F(a_ring, counts_outcomes) {
  proto::outcome_entry e{};
  e.stream = s.stream;
  e.stream_generation = s.stream_generation;
  e.wait_ns = 900;
  e.kind = proto::kind_immediate;
  for (int i = 0; i < 60; ++i) a.ring->add_outcome(e);
  ASSERT_TRUE(rings.take(a));
  EXPECT_EQ(world.counts().completed, 60u);
  EXPECT_EQ(a.ring->header().outcome_head, 60u);
}

TEST_F(a_ring, is_left_alone_when_its_owner_is_gone) {
  rings.ask(a, 1, s, 1);
  ASSERT_TRUE(rings.take(a));
  world.decisions.disconnect(a.id());
  world.settle();
  EXPECT_EQ(world.counts().owner_gone, 1u);
  EXPECT_EQ(world.waits.board().waits(), 0u);
  EXPECT_EQ(rings.ended(a).first, -1);
  EXPECT_FALSE(take_ring(world.decisions, world.waits, *a.seat, world.clock.now()));
  EXPECT_EQ(world.decisions.pending(), 0u);
}

TEST_F(a_ring, lets_a_kick_through_and_refuses_one_without_it) {
  world.say(a.id(), proto::kick{});
  EXPECT_EQ(world.looks, 1u);
  const node_world::client b = world.connect("b");
  world.say(b.id, proto::kick{});
  EXPECT_EQ(world.refused(b.id, true), code_of(errc::OutOfState));
  EXPECT_EQ(world.looks, 1u);
}

TEST_F(a_ring, mixes_with_waits_by_socket_up_to_one_limit) {
  node_limits limits = ring_world::with_entries(64);
  limits.waits_per_client = 2;
  ring_world small(limits);
  ring_world::client c = small.connect();
  const proto::opened stream = *small.world.open(c.base);
  small.ask(c, 0, stream, 1);
  ASSERT_TRUE(small.take(c));
  small.world.say(c.id(), c.base.wait_for(stream, 1));
  EXPECT_EQ(small.world.refused(c.id()), 0);
  small.ask(c, 1, stream, 1);
  ASSERT_TRUE(small.take(c));
  EXPECT_EQ(small.ended(c).second.code, code_of(errc::LimitWaits));
  small.world.store(c.base, stream, 1);
  EXPECT_EQ(small.ended(c).first, 0);
  EXPECT_TRUE(small.world.completion(c.id()));
}

TEST_F(a_ring, ends_its_session_for_each_breach_of_the_protocol_and_no_other) {
  using breach = std::function<void(ring_world::client&, const proto::opened&)>;
  const std::pair<const char*, breach> breaches[] = {
      {"a slot that does not exist",
       [](auto& c, auto&) { c.ring->submit(64, proto::submit_wait); }},
      {"an op that is none", [](auto& c, auto&) { c.ring->submit(0, 4); }},
      {"a slot in flight",
       [this](auto& c, auto& o) {
         rings.ask(c, 0, o, 1);
         rings.ask(c, 0, o, 2);
       }},
      {"a point in a slot in flight",
       [this](auto& c, auto& o) {
         rings.ask(c, 0, o, 1);
         c.ring->submit(0, proto::submit_point);
       }},
      {"a reserved field",
       [this](auto& c, auto& o) {
         rings.ask(c, 0, o, 1);
         c.ring->slot(0).request.reserved[1] = 1;
       }},
      {"a point beyond the last",
       [this](auto& c, auto& o) {
         rings.ask(c, 0, o, 1);
         c.ring->slot(0).request.point = 257;
       }},
      {"a point without a number", [](auto& c, auto&) { c.ring->submit_point(0, 0, "p"); }},
      {"a point without a name", [](auto& c, auto&) { c.ring->submit_point(0, 1, ""); }},
      {"a name without an end",
       [](auto& c, auto&) {
         c.ring->submit_point(0, 1, std::string(proto::name_field_bytes, 'n'));
       }},
      {"a tail too far", [](auto& c, auto&) { c.ring->set_tail(65); }},
      {"a tail behind", [](auto& c, auto&) { c.ring->set_tail(UINT64_MAX); }},
      {"an outcome tail too far", [](auto& c, auto&) { c.ring->header().outcome_tail = 61; }},
      {"an outcome's field",
       [](auto& c, auto&) {
         proto::outcome_entry e{};
         e.what = 3;
         c.ring->add_outcome(e);
       }},
  };
  for (const auto& [name, commit] : breaches) {
    ring_world::client c = rings.connect("breaker");
    const proto::opened of_c = *world.open(c.base);
    commit(c, of_c);
    EXPECT_FALSE(rings.take(c)) << name;
    EXPECT_EQ(world.refused(c.id(), true), code_of(errc::MalformedMessage)) << name;
    EXPECT_EQ(world.closed.back(), c.id()) << name;
    world.run_to(world.clock.now() - instant{} + from_ms(1));
    EXPECT_EQ(world.waits.board().waits(), 0u) << name;
  }
  rings.ask(a, 0, s, 1);
  ASSERT_TRUE(rings.take(a));
  world.store(a.base, s, 1);
  EXPECT_EQ(rings.ended(a).first, 0);
}

// Whatever stands in a ring: no more than its length is taken at a time, nothing outside is
// touched (the address sanitizer looks), and another client's waits go on.
TEST_F(a_ring, may_hold_anything) {
  const char* given = std::getenv("GAR_TEST_SEED");
  const uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  SCOPED_TRACE("GAR_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  uint64_t n = 0;
  for (int round = 0; round < 200; ++round) {
    ring_world::client c = rings.connect("scribbler");
    world.open(c.base);
    for (int step = 0; step < 20; ++step) {
      auto* bytes = reinterpret_cast<uint8_t*>(c.ring->data());
      for (int i = 0; i < 2000; ++i) {
        bytes[random() % c.ring->bytes()] = static_cast<uint8_t>(random() % 4 ? 0 : random());
      }
      // Mostly a tail that is possible, so that the slots are looked at.
      c.ring->header().outcome_tail = c.ring->header().outcome_head;
      c.ring->set_tail(c.seat->ring.begin() ? c.ring->header().submit_tail
                                            : c.ring->header().submit_head + random() % 65);
      if (!rings.take(c)) break;
    }
    world.decisions.disconnect(c.id());
    world.settle();
    rings.ask(a, 9, s, ++n);
    ASSERT_TRUE(rings.take(a));
    world.store(a.base, s, n);
    ASSERT_EQ(rings.ended(a).first, 9);
    world.log.clear();
  }
  EXPECT_EQ(world.waits.board().waits(), 0u);
}

}  // namespace
}  // namespace gar::test
