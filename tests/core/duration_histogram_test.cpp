// Counts of durations: where each falls, and what is read out of them.
#include "lib/core/duration_histogram.hpp"

#include <gtest/gtest.h>

namespace gar {
namespace {

TEST(duration_histogram, a_duration_falls_into_the_first_range_that_holds_it) {
  duration_histogram h;
  h.add(duration{0});
  h.add(from_us(1));  // its bound is its own
  h.add(duration{1'001});
  h.add(from_ms(10'000));
  h.add(from_ms(10'001));
  EXPECT_EQ(h.counts.front(), 2u);
  EXPECT_EQ(h.counts[1], 1u);
  EXPECT_EQ(h.counts[h.bounds_ns.size() - 1], 1u);
  EXPECT_EQ(h.counts.back(), 1u);
  EXPECT_EQ(h.count(), 5u);
  EXPECT_EQ(h.sum_ns, 0u + 1'000 + 1'001 + 10'000'000'000 + 10'001'000'000);
}

TEST(duration_histogram, the_sum_saturates) {
  duration_histogram h;
  h.add(duration::max());
  h.add(from_us(1));
  EXPECT_EQ(h.sum_ns, UINT64_MAX);
  EXPECT_EQ(h.count(), 2u);
  duration_histogram all = h;
  all.add(h);
  EXPECT_EQ(all.sum_ns, UINT64_MAX);
  EXPECT_EQ(all.count(), 4u);
}

TEST(duration_histogram, an_empty_one_has_no_quantile) {
  EXPECT_FALSE(duration_histogram().quantile(500));
}

TEST(duration_histogram, a_quantile_lies_in_the_range_of_its_sample) {
  duration_histogram h;
  for (int i = 0; i < 99; ++i) h.add(from_us(20));  // above 10, not above 25
  h.add(from_ms(3));                                // above 2.5, not above 5
  const duration middle = *h.quantile(500);
  EXPECT_GT(middle, from_us(10));
  EXPECT_LE(middle, from_us(25));
  EXPECT_LE(*h.quantile(990), from_us(25));
  const duration last = *h.quantile(1000);
  EXPECT_GT(last, from_us(2'500));
  EXPECT_LE(last, from_ms(5));
  EXPECT_LE(*h.quantile(0), middle);
}

TEST(duration_histogram, beyond_the_last_bound_a_quantile_is_that_bound) {
  duration_histogram h;
  h.add(duration::max());
  EXPECT_EQ(h.quantile(500), from_ms(10'000));
}

}  // namespace
}  // namespace gar
