#include "bench/measure.hpp"

#include <gtest/gtest.h>

namespace gar::bench {
namespace {

samples rounds_of(const std::vector<std::vector<uint64_t>>& rounds) {
  samples all;
  for (const auto& round : rounds) {
    all.begin_round();
    for (const uint64_t each : round) all.add(each);
  }
  return all;
}

TEST(measure, a_ratio_is_the_median_of_the_rounds) {
  // The second round had a neighbour who slowed one side alone.
  const samples ours = rounds_of({{20, 20, 20}, {900, 900, 900}, {30, 30, 30}});
  const samples floor = rounds_of({{10, 10, 10}, {10, 10, 10}, {15, 15, 15}});
  EXPECT_DOUBLE_EQ(ratio(ours, floor, 0.5), 2.0);
}

TEST(measure, rounds_that_cannot_be_divided_do_not_count) {
  EXPECT_DOUBLE_EQ(ratio(rounds_of({{4}, {6}}), rounds_of({{0}, {2}}), 0.5), 3.0);
  EXPECT_DOUBLE_EQ(ratio(samples(), samples(), 0.5), 0.0);
}

TEST(measure, a_distribution_is_of_all_rounds_and_its_spread_of_their_medians) {
  const distribution d = rounds_of({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}).all();
  EXPECT_EQ(d.min_ns, 1u);
  EXPECT_EQ(d.p50_ns, 5u);
  EXPECT_EQ(d.max_ns, 9u);
  EXPECT_DOUBLE_EQ(d.spread, 3.0 / 5.0);
}

TEST(measure, nothing_measured_is_all_zero) {
  const distribution d = rounds_of({{}, {}}).all();
  EXPECT_EQ(d.max_ns, 0u);
  EXPECT_DOUBLE_EQ(d.spread, 0.0);
}

}  // namespace
}  // namespace gar::bench
