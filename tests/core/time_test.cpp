// Instants and durations: subtraction stops at 0, addition at the last instant.
#include "lib/core/time.hpp"

#include <gtest/gtest.h>

#include <type_traits>

#include "lib/core/manual_time.hpp"

namespace gar {
namespace {

template <class A, class B>
concept addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept comparable = requires(A a, B b) {
  a < b;
};

static_assert(!std::is_convertible_v<duration, instant> &&
              !std::is_convertible_v<instant, duration>);
static_assert(!addable<instant, instant> && addable<instant, duration>);
static_assert(!comparable<instant, duration>);

TEST(time, subtracting_a_later_instant_gives_0) {
  EXPECT_EQ(instant{5} - instant{9}, duration{});
  EXPECT_EQ(instant{9} - instant{5}, duration{4});
  EXPECT_EQ(duration{5} - duration{9}, duration{});
  EXPECT_EQ(instant{5} - duration{9}, instant{});
}

TEST(time, adding_saturates) {
  EXPECT_EQ(instant{5} + duration::max(), instant::never());
  EXPECT_EQ(instant::never() + duration{1}, instant::never());
  EXPECT_EQ(duration{5} + duration::max(), duration::max());
  EXPECT_EQ(instant{5} + duration{4}, instant{9});
}

TEST(time, units_saturate) {
  EXPECT_EQ(from_us(3), duration{3000});
  EXPECT_EQ(from_ms(3), duration{3'000'000});
  EXPECT_EQ(from_us(UINT64_MAX), duration::max());
  EXPECT_EQ(from_ms(UINT64_MAX / 1000), duration::max());
  EXPECT_EQ(from_us(UINT64_MAX / 1000), duration{UINT64_MAX / 1000 * 1000});
}

TEST(time, halves_are_rounded_down) {
  EXPECT_EQ(duration{7} / 2, duration{3});
}

TEST(manual_time, moves_only_when_told_and_never_back) {
  manual_clock clock(instant{10});
  EXPECT_EQ(clock.now(), instant{10});
  clock.advance({5});
  clock.advance_to(instant{3});
  EXPECT_EQ(clock.now(), instant{15});
  manual_timer timer(clock, {7});
  ASSERT_TRUE(timer.sleep_until(instant{20}).has_value());
  EXPECT_EQ(clock.now(), instant{27}) << "it overshoots as told";
}

}  // namespace
}  // namespace gar
