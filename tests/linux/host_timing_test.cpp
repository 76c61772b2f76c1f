#include "lib/linux/host_timing.hpp"

#include <gtest/gtest.h>

#include <cstdio>

#include "lib/linux/probe.hpp"
#include "lib/linux/timer_slack.hpp"

namespace gar {
namespace {

TEST(host_timing, measures_everything_or_says_why_not) {
  const host_timing seen = measure_host_timing();
  EXPECT_GT(seen.wake.ns, 0u);
  EXPECT_GT(seen.work_warm.ns, 0u);
  EXPECT_GT(seen.work_after_sleep.ns, 0u);
  EXPECT_GT(seen.clock_reading.ns, 0u);
  EXPECT_EQ(seen.wake_held.has_value(), seen.why_not_held.empty()) << seen.why_not_held;
  EXPECT_EQ(seen.wake_held.has_value(), seen.sleep_late_held.has_value());
  std::printf("sleep %lu and %lu ns late, wake %lu ns, work %lu and %lu ns, clock %lu ns\n",
              seen.sleep_late.ns, seen.sleep_late_exact.ns, seen.wake.ns, seen.work_warm.ns,
              seen.work_after_sleep.ns, seen.clock_reading.ns);
}

TEST(host_timing, leaves_the_timer_slack_as_it_was) {
  ASSERT_TRUE(set_timer_slack_ns(12'345));
  EXPECT_EQ(measure_host_timing().slack_ns, 12'345u);
  EXPECT_EQ(timer_slack_ns().value(), 12'345u);
}

TEST(pinning, of_more_than_there_is_is_refused_with_the_kernels_reason) {
  EXPECT_GT(client_pins_bytes(), 0u);
  const result<void> refused = try_to_pin(uint64_t{1} << 62);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().os_number(), 0);
}

}  // namespace
}  // namespace gar
