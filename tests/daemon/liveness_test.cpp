// When the service manager is no longer told that gard turns.
#include "daemon/liveness.hpp"

#include <gtest/gtest.h>

namespace gar {
namespace {

status_snapshot with(uint64_t pending, uint64_t turns) {
  status_snapshot s;
  s.executor.running = "gpu-reactor";
  s.waits.pending = pending;
  s.reactor.parked = turns;
  return s;
}

constexpr instant at_s(uint64_t seconds) {
  return {seconds * 1'000'000'000};
}

TEST(liveness, an_idle_reactor_may_stand_still_for_ever) {
  liveness l;
  EXPECT_TRUE(l.alive(with(0, 7), at_s(1000)));
  EXPECT_TRUE(l.alive(with(0, 7), at_s(9000)));
}

TEST(liveness, a_reactor_with_waits_that_stands_still_too_long_hangs) {
  liveness l;
  EXPECT_TRUE(l.alive(with(0, 7), at_s(1000)));
  EXPECT_TRUE(l.alive(with(1, 7), at_s(1019)));
  EXPECT_FALSE(l.alive(with(1, 7), at_s(1020)));
  EXPECT_TRUE(l.alive(with(1, 8), at_s(1021)));
  EXPECT_TRUE(l.alive(with(1, 8), at_s(1040)));
}

TEST(liveness, naive_workers_may_rest_while_an_owner_does_not_answer) {
  liveness l;
  status_snapshot s = with(1, 7);
  s.executor.running = "naive";
  EXPECT_TRUE(l.alive(s, at_s(1000)));
  EXPECT_TRUE(l.alive(s, at_s(9000)));
}

}  // namespace
}  // namespace gar
