#include "clients/garclient/plan_picks.hpp"

#include <gtest/gtest.h>

namespace gar::owner {
namespace {

constexpr instant now{1'000'000'000};

TEST(plan_picks, are_few) {
  plan_picks picks;
  for (int i = 0; i < plan_picks::most; ++i) {
    EXPECT_TRUE(picks.left());
    picks.take();
  }
  EXPECT_FALSE(picks.left());
}

TEST(plan_picks, are_over_when_they_are_given_up) {
  plan_picks picks;
  picks.give_up();
  EXPECT_FALSE(picks.left());
}

TEST(plan_picks, pause_for_newer_plans) {
  plan_picks picks;
  EXPECT_EQ(picks.pause(now, from_ms(5), instant::never()), now + from_ms(5));
  EXPECT_EQ(picks.pause(now, from_ms(5), now + from_ms(6)), now + from_ms(5));
  EXPECT_TRUE(picks.left());
}

TEST(plan_picks, pause_to_the_deadline_and_no_further_and_then_are_over) {
  for (const instant deadline : {now - from_us(10), now, now + from_us(10), now + from_ms(5)}) {
    plan_picks picks;
    EXPECT_EQ(picks.pause(now, from_ms(5), deadline), deadline);
    EXPECT_FALSE(picks.left());
  }
}

}  // namespace
}  // namespace gar::owner
