#include "lib/core/line_pace.hpp"

#include <gtest/gtest.h>

namespace gar {
namespace {

constexpr instant start{1'000'000'000'000};

TEST(line_pace, lines_beyond_the_burst_are_left_out_and_counted) {
  line_pace pace;
  uint64_t said = 0;
  for (uint64_t i = 0; i < 1000; ++i) said += pace.allow(start).has_value();
  EXPECT_GE(said, line_pace::burst);
  EXPECT_LE(said, line_pace::burst + 1);
  EXPECT_FALSE(pace.at_rest(start + from_ms(3'600'000)));  // somebody is still to be told
  const auto left_out = pace.allow(start + line_pace::interval);
  ASSERT_TRUE(left_out);
  EXPECT_EQ(*left_out, 1000 - said);
}

TEST(line_pace, a_line_now_and_then_is_never_left_out) {
  line_pace pace;
  for (uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(pace.allow(start + duration{i * line_pace::interval.ns}), 0u);
  }
  EXPECT_TRUE(pace.at_rest(start + from_ms(3'600'000)));
}

}  // namespace
}  // namespace gar
