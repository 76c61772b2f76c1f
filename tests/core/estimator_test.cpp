// The estimator's table of values, and what late wakes may and may not do to it.
#include "lib/core/estimator.hpp"

#include <gtest/gtest.h>

namespace gar {
namespace {

constexpr prediction by{from_us(150), from_us(20), from_ms(50), 8};

duration lone(duration residual) {
  estimator e;
  e.record(sample::exact(residual), by.window);
  return e.sleep_for(by);
}

TEST(estimator, holds_the_table_of_values) {
  estimator e;
  for (uint64_t us : {1000, 900, 1100}) e.record(sample::exact(from_us(us)), by.window);
  EXPECT_EQ(e.sleep_for(by), from_us(750));
  for (int i = 0; i < 8; ++i) e.record(sample::exact(from_us(2000)), by.window);
  EXPECT_EQ(e.sleep_for(by), from_us(1850));

  EXPECT_EQ(lone(from_us(160)), duration{}) << "10 us are below the shortest sleep";
  EXPECT_EQ(lone(from_us(100)), duration{}) << "not above the margin";
  EXPECT_EQ(lone(duration::max()), from_ms(50));
  EXPECT_EQ(estimator{}.sleep_for(by), duration{}) << "an unknown point";
}

TEST(estimator, predicts_nothing_before_the_first_sample) {
  estimator e;
  EXPECT_FALSE(e.predicted(8));
  e.record(sample::none(), 8);
  EXPECT_FALSE(e.predicted(8));
  e.record(sample::exact(from_us(1)), 8);
  EXPECT_EQ(e.predicted(8), from_us(1));
}

TEST(estimator, forgets_what_left_the_window) {
  for (uint8_t window = 1; window <= 16; ++window) {
    estimator e;
    e.record(sample::exact(from_us(10)), window);
    for (uint8_t i = 1; i < window; ++i) {
      e.record(sample::exact(from_us(500)), window);
      EXPECT_EQ(e.predicted(window), from_us(10)) << int(window) << " " << int(i);
    }
    e.record(sample::exact(from_us(500)), window);
    EXPECT_EQ(e.predicted(window), from_us(500)) << int(window);
  }
}

TEST(estimator, sleeps_from_the_shortest_sleep_on) {
  EXPECT_EQ(lone(duration{169'999}), duration{});
  EXPECT_EQ(lone(from_us(170)), from_us(20));
  EXPECT_EQ(lone(duration{170'001}), duration{20'001});
}

TEST(estimator, sleeps_the_longest_sleep_at_most) {
  EXPECT_EQ(lone(from_us(50'150)), from_ms(50));
  EXPECT_EQ(lone(from_us(50'151)), from_ms(50));
}

TEST(estimator, a_sleep_of_nothing_is_none) {
  estimator e;
  e.record(sample::exact(from_us(150)), 8);
  EXPECT_EQ(e.sleep_for({from_us(150), {}, from_ms(1), 8}), duration{});
  EXPECT_EQ(e.sleep_for({{}, {}, {}, 8}), duration{}) << "a longest sleep of 0";
}

TEST(estimator, a_late_wake_records_half_of_the_earlier_of_wake_and_prediction) {
  estimator e;
  e.record(sample::exact({1001}), 8);
  e.record(sample::late({5000}), 8);
  EXPECT_EQ(e.predicted(8), duration{500}) << "halves are rounded down";
  e.record(sample::late({401}), 8);
  EXPECT_EQ(e.predicted(8), duration{200});
}

TEST(estimator, a_late_wake_at_a_cold_point_records_half_of_it) {
  estimator e;
  e.record(sample::late({777}), 8);
  EXPECT_EQ(e.predicted(8), duration{388});
}

TEST(estimator, late_wakes_lower_the_prediction_geometrically_and_never_raise_it) {
  estimator e;
  e.record(sample::exact(from_ms(8)), 8);
  duration expected = from_ms(8);
  for (int i = 0; i < 40; ++i) {
    // Each wake overshoots wildly, and none of it is seen.
    e.record(sample::late(from_ms(1000)), 8);
    expected = expected / 2;
    EXPECT_EQ(e.predicted(8), expected) << i;
  }
  EXPECT_EQ(e.predicted(8), duration{});
}

TEST(estimator, exact_samples_bring_the_prediction_back) {
  estimator e;
  e.record(sample::exact(from_us(1000)), 4);
  e.record(sample::late(from_us(900)), 4);
  for (int i = 0; i < 3; ++i) e.record(sample::exact(from_us(1000)), 4);
  EXPECT_EQ(e.predicted(4), from_us(450));
  e.record(sample::exact(from_us(1000)), 4);
  EXPECT_EQ(e.predicted(4), from_us(1000));
}

TEST(estimator, a_plan_with_another_window_looks_at_its_own_share) {
  estimator e;
  e.record(sample::exact(from_us(1)), 16);
  for (int i = 0; i < 4; ++i) e.record(sample::exact(from_us(9)), 16);
  EXPECT_EQ(e.predicted(4), from_us(9));
  EXPECT_EQ(e.predicted(5), from_us(1));
}

TEST(estimator, a_host_whose_sleeps_overshoot_has_a_least_margin) {
  estimator e;
  e.record(sample::exact(from_us(1000)), 8);
  const prediction by{from_us(200), from_us(50), from_ms(50), 8};
  EXPECT_EQ(e.sleep_for(with_margin_floor(by, from_us(60))), from_us(800)) << "the plan's is more";
  EXPECT_EQ(e.sleep_for(with_margin_floor(by, from_us(350))), from_us(650));
  EXPECT_EQ(e.sleep_for(with_margin_floor(by, from_us(1000))), duration{}) << "nothing is left";
}

}  // namespace
}  // namespace gar
