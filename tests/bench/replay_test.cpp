#include "bench/replay.hpp"

#include <gtest/gtest.h>

namespace gar::bench {
namespace {

plan plan_of(const std::string& text) {
  return bands::parse(text)->select(0);
}

const plan predicting = plan_of(
    "flag:park_us=100,backstop_us=10000+predict:margin_us=100,min_sleep_us=50,max_sleep_us=50000,"
    "window=4");

TEST(replay, a_wait_without_a_sleep_costs_its_residual) {
  const replay_sums s = replay({1'000'000, 2'000'000}, plan_of("poll"));
  EXPECT_EQ(s.waits, 2u);
  EXPECT_EQ(s.exact, 2u);
  EXPECT_EQ(s.late, 0u);
  EXPECT_EQ(s.slept_ns, 0u);
  EXPECT_EQ(s.cpu_ns, 3'000'000u);
  EXPECT_EQ(s.delay_ns, 0u);
}

TEST(replay, a_wait_that_wakes_in_time_costs_what_is_left) {
  const replay_sums s = replay({1'000'000, 1'000'000}, predicting);
  EXPECT_EQ(s.exact, 2u);
  EXPECT_EQ(s.slept_ns, 900'000u);
  EXPECT_EQ(s.cpu_ns, 1'000'000u + 100'000u);
}

TEST(replay, a_wait_that_wakes_late_costs_delay_and_teaches_half) {
  // Sleeps 900 us; the late sample is min(900, 1000) / 2 = 450 us, and the next sleep 350 us.
  const replay_sums s = replay({1'000'000, 600'000, 600'000}, predicting);
  EXPECT_EQ(s.exact, 2u);
  EXPECT_EQ(s.late, 1u);
  EXPECT_EQ(s.delay_ns, 300'000u);
  EXPECT_EQ(s.slept_ns, 900'000u + 350'000u);
  EXPECT_EQ(s.cpu_ns, 1'000'000u + 250'000u);
}

TEST(replay, a_wake_at_the_very_end_finds_it_done) {
  const replay_sums s = replay({1'000'000, 900'000}, predicting);
  EXPECT_EQ(s.late, 1u);
  EXPECT_EQ(s.delay_ns, 0u);
  EXPECT_EQ(s.cpu_ns, 1'000'000u);
}

TEST(replay, a_blocking_plan_neither_looks_nor_learns) {
  const replay_sums s = replay({1'000'000}, plan_of("block"));
  EXPECT_EQ(s.waits, 1u);
  EXPECT_EQ(s.exact + s.late, 0u);
  EXPECT_EQ(s.cpu_ns, 0u);
}

TEST(replay, a_series_is_a_number_to_a_line) {
  const auto series = parse_series("12\n34", "s");
  ASSERT_TRUE(series.has_value());
  EXPECT_EQ(*series, (std::vector<uint64_t>{12, 34}));
}

TEST(replay, a_fault_in_a_series_is_named_with_its_line) {
  for (const char* text :
       {"1\nx", "1\n\n3", "1\n-2", "1\n2 ", "1\n2.5", "1\n99999999999999999999"}) {
    const auto series = parse_series(text, "s");
    ASSERT_FALSE(series.has_value()) << text;
    EXPECT_EQ(series.error().code(), errc::InvalidArgument);
    EXPECT_EQ(series.error().arguments()[0], "s:2");
  }
  EXPECT_FALSE(parse_series("", "s").has_value());
}

}  // namespace
}  // namespace gar::bench
