#include "bench/interval.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gar::bench {
namespace {

TEST(interval, students_t_is_that_of_the_tables) {
  EXPECT_NEAR(student_t_95(1), 12.706, 0.001);
  EXPECT_NEAR(student_t_95(10), 2.228, 0.001);
  EXPECT_NEAR(student_t_95(11), 2.201, 0.001);
  EXPECT_NEAR(student_t_95(30), 2.042, 0.001);
  EXPECT_NEAR(student_t_95(120), 1.980, 0.001);
}

TEST(interval, twice_and_half_cancel_out) {
  const interval i = mean_ratio_95({2.0, 0.5});
  EXPECT_NEAR(i.middle, 1.0, 1e-12);
  // The logarithms are +-ln 2: their standard error is ln 2, with one degree of freedom.
  EXPECT_NEAR(i.high, std::exp(12.7062 * std::log(2.0)), 1e-6 * i.high);
  EXPECT_NEAR(i.low * i.high, 1.0, 1e-9);
}

TEST(interval, equal_ratios_leave_no_doubt) {
  const interval i = mean_ratio_95({3.0, 3.0, 3.0});
  EXPECT_NEAR(i.low, 3.0, 1e-12);
  EXPECT_NEAR(i.high, 3.0, 1e-12);
}

}  // namespace
}  // namespace gar::bench
