// The trace of waits: their times, what finds no room, and that a reader sees only what was told.
#include "lib/core/wait_trace.hpp"

#include <gtest/gtest.h>

namespace gar {
namespace {

traced_wait wait_of(instant start, instant seen = {}) {
  traced_wait w;
  w.session = 7;
  w.stream = 3;
  w.start = start;
  w.seen = seen;
  w.kind = wait_kind::parked;
  w.parks = 2;
  w.slept = duration{200};
  return w;
}

// What names the waits.
const uint64_t entries[64] = {};

std::vector<traced_wait> taken(wait_trace& from, size_t most = SIZE_MAX) {
  std::vector<traced_wait> all;
  from.take(most, [&](const traced_wait& w) { all.push_back(w); });
  return all;
}

TEST(wait_trace, has_each_step_of_a_wait) {
  wait_trace t;
  t.registered(&entries[0], instant{150});
  t.ended(&entries[0], wait_of(instant{100}, instant{900}));
  t.notified(instant{950});
  const auto all = taken(t);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].session, 7u);
  EXPECT_EQ(all[0].stream, 3u);
  EXPECT_EQ(all[0].start, instant{100});
  EXPECT_EQ(all[0].registered, instant{150});
  EXPECT_EQ(all[0].slept, duration{200});
  EXPECT_EQ(all[0].seen, instant{900});
  EXPECT_EQ(all[0].notified, instant{950});
  EXPECT_EQ(all[0].kind, wait_kind::parked);
  EXPECT_EQ(all[0].parks, 2u);
  EXPECT_EQ(all[0].code, 0);
}

TEST(wait_trace, shows_nobody_a_wait_that_was_not_told_yet) {
  wait_trace t;
  t.ended(&entries[0], wait_of(instant{100}));
  EXPECT_TRUE(t.has_news());
  EXPECT_TRUE(taken(t).empty());
  t.notified(instant{901});
  EXPECT_FALSE(t.has_news());
  EXPECT_EQ(taken(t).size(), 1u);
  EXPECT_TRUE(taken(t).empty());
}

TEST(wait_trace, a_wait_that_came_before_it_has_no_time_of_registration) {
  wait_trace t;
  t.registered(&entries[1], instant{10});
  t.ended(&entries[0], wait_of(instant{5}, instant{20}));
  t.notified(instant{21});
  EXPECT_EQ(taken(t).at(0).registered, instant{});
}

TEST(wait_trace, a_wait_that_nobody_saw_end_was_seen_when_it_was_told) {
  wait_trace t;
  t.ended(&entries[0], wait_of(instant{5}));
  t.notified(instant{21});
  EXPECT_EQ(taken(t).at(0).seen, instant{21});
}

TEST(wait_trace, waits_that_find_no_room_are_counted_and_what_is_taken_makes_room) {
  wait_trace t;
  for (size_t i = 0; i < wait_trace::waits_max + 5; ++i) {
    t.ended(&entries[0], wait_of(instant{i}));
  }
  t.notified(instant{1});
  EXPECT_EQ(t.lost(), 5u);
  EXPECT_EQ(taken(t, 10).size(), 10u);
  for (size_t i = 0; i < 11; ++i) t.ended(&entries[0], wait_of(instant{i}));
  t.notified(instant{2});
  EXPECT_EQ(t.lost(), 6u);
  const auto rest = taken(t);
  EXPECT_EQ(rest.size(), wait_trace::waits_max);
  EXPECT_EQ(rest.front().id, 11u);
}

}  // namespace
}  // namespace gar
