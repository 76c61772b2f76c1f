#include "lib/core/sleep_lateness.hpp"

#include <gtest/gtest.h>

namespace gar {
namespace {

constexpr prediction by_default{from_us(200), from_us(50), from_ms(50), 8};

estimator of_residual(duration residual) {
  estimator e;
  e.record(sample::exact(residual), by_default.window);
  return e;
}

TEST(sleep_lateness, begins_with_what_was_measured) {
  EXPECT_EQ(sleep_lateness(from_us(70)).floor(), from_us(70));
}

TEST(sleep_lateness, rises_to_what_all_but_one_in_64_sleeps_stay_within) {
  sleep_lateness sleeps(from_us(70));
  int later = 0;
  constexpr int sleeps_seen = 64'000;
  for (int i = 0; i < sleeps_seen; ++i) {
    const duration late = from_us(static_cast<uint64_t>(i) * 7919 % 640);  // each as often
    later += late > sleeps.floor() ? 1 : 0;
    sleeps.saw(late);
  }
  EXPECT_NEAR(later, sleeps_seen / 64, sleeps_seen / 640);
  EXPECT_NEAR(static_cast<double>(sleeps.floor().ns), 630e3, 63e3);
}

// A start on a busy host measures a bad moment, which says nothing of the hours behind it.
TEST(sleep_lateness, sinks_below_what_was_measured_to_what_sleeps_are) {
  sleep_lateness sleeps(from_ms(1));
  for (int i = 0; i < 2000; ++i) sleeps.saw(from_us(40));
  EXPECT_GE(sleeps.floor(), from_us(39));
  EXPECT_LE(sleeps.floor(), from_us(40 + 63));
}

TEST(sleep_lateness, never_rises_over_its_most) {
  sleep_lateness sleeps(from_ms(20));
  EXPECT_EQ(sleeps.floor(), sleep_lateness::most);
  sleeps.saw(duration::max());
  EXPECT_EQ(sleeps.floor(), sleep_lateness::most);
}

TEST(sleep_lateness, is_a_floor_under_the_margin) {
  sleep_lateness sleeps(from_us(150));
  const estimator e = of_residual(from_ms(3));
  EXPECT_EQ(sleeps.sleep_for(e, by_default), from_us(2800)) << "the plan's is more";
  for (int i = 0; i < 2; ++i) sleeps.saw(from_us(400));
  EXPECT_EQ(sleeps.sleep_for(e, by_default), from_us(3000 - 150 - 2 * 63));
}

// None of them sleeps, so none of them could teach that sleeps end in time again.
TEST(sleep_lateness, sinks_with_each_wait_that_it_keeps_from_sleeping) {
  sleep_lateness sleeps;
  for (int i = 0; i < 20; ++i) sleeps.saw(from_ms(5));
  const estimator e = of_residual(from_us(600));
  int kept_awake = 0;
  while (!sleeps.sleep_for(e, by_default) && kept_awake < 2000) ++kept_awake;
  EXPECT_EQ(kept_awake, 450) << "1000 us have to sink below 600 less the least sleep, 50";
}

TEST(sleep_lateness, does_not_sink_with_waits_that_would_not_sleep_anyway) {
  sleep_lateness sleeps;
  for (int i = 0; i < 5; ++i) sleeps.saw(from_ms(5));
  const duration before = sleeps.floor();
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(sleeps.sleep_for(of_residual(from_us(150)), by_default));
    EXPECT_FALSE(sleeps.sleep_for(estimator{}, by_default));
  }
  EXPECT_EQ(sleeps.floor(), before);
}

}  // namespace
}  // namespace gar
