// When the CPUs are kept from deep sleep, on virtual time.
#include "lib/core/latency_hold.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace gar {
namespace {

using change = latency_hold::change;

constexpr instant at_ms(uint64_t ms) {
  return instant{} + from_ms(ms);
}

TEST(latency_hold, holds_nothing_before_a_wait_is_due) {
  latency_hold hold;
  EXPECT_EQ(hold.step(at_ms(0)), change::none);
  EXPECT_EQ(hold.step(at_ms(50)), change::none);
  EXPECT_EQ(hold.next(), instant::never());
}

TEST(latency_hold, holds_from_the_first_due_wait_until_none_was_due_for_a_while) {
  latency_hold hold;
  hold.due(at_ms(1000));
  EXPECT_EQ(hold.step(at_ms(1000)), change::hold);
  hold.due(at_ms(1030));
  EXPECT_EQ(hold.step(at_ms(1100)), change::none);
  EXPECT_EQ(hold.next(), at_ms(1130));
  EXPECT_EQ(hold.step(at_ms(1129)), change::none);
  EXPECT_EQ(hold.step(at_ms(1130)), change::release);
  EXPECT_FALSE(hold.held());
  EXPECT_EQ(hold.next(), instant::never());
  EXPECT_EQ(hold.changes(), 2u);
}

TEST(latency_hold, a_wait_that_is_long_past_holds_nothing) {
  latency_hold hold;
  hold.due(at_ms(1000));
  EXPECT_EQ(hold.step(at_ms(1100)), change::none);
}

// Each wait comes just after the release: the worst that a client can do.
TEST(latency_hold, a_release_is_put_off_and_never_a_hold) {
  latency_hold hold;
  std::vector<instant> changed;
  for (instant now = at_ms(1); now < at_ms(10'000); now = now + from_ms(1)) {
    if (!hold.held()) {
      hold.due(now);
      EXPECT_EQ(hold.step(now), change::hold);
      changed.push_back(now);
    } else if (hold.step(now) == change::release) {
      changed.push_back(now);
    }
  }
  EXPECT_EQ(hold.changes(), changed.size());
  EXPECT_GT(changed.size(), 80u) << "as many as are allowed";
  for (size_t i = latency_hold::changes_max; i < changed.size(); ++i) {
    EXPECT_GE(changed[i] - changed[i - latency_hold::changes_max], latency_hold::changes_in);
  }
}

TEST(latency_hold, keeps_its_bound_and_its_promise_whatever_comes_when) {
  const unsigned seed = 7;
  std::mt19937 random(seed);
  latency_hold hold;
  std::vector<instant> changed;
  instant now = at_ms(5);
  for (int i = 0; i < 20'000; ++i) {
    now = now + from_us(random() % 60'000);
    const bool due = random() % 3 == 0;
    if (due) hold.due(now);
    if (hold.step(now) != change::none) changed.push_back(now);
    if (due) {
      ASSERT_TRUE(hold.held()) << "seed " << seed << " step " << i;
    }
    if (hold.held()) {
      ASSERT_GE(hold.next(), now);
    }
  }
  for (size_t i = latency_hold::changes_max; i < changed.size(); ++i) {
    ASSERT_GE(changed[i] - changed[i - latency_hold::changes_max], latency_hold::changes_in);
  }
}

}  // namespace
}  // namespace gar
