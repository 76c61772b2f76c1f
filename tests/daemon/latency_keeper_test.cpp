// The keeper over a file that stands for the kernel's device: what it asks for, and when.
#include "daemon/latency_keeper.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <optional>

#include "lib/linux/thread_timer.hpp"
#include "tests/linux/temporary_directory.hpp"

namespace gar {
namespace {

class a_latency_keeper : public testing::Test {
 protected:
  void SetUp() override { std::ofstream(device).flush(); }

  // What was asked for last.
  std::optional<int32_t> asked_us() const {
    std::ifstream in(device, std::ios::binary);
    int32_t us = -1;
    if (!in.read(reinterpret_cast<char*>(&us), sizeof(us))) return std::nullopt;
    return us;
  }
  // Waits for it; a loaded machine may take long.
  bool comes_to_ask(int32_t us) const {
    const steady_clock clock;
    const instant give_up = clock.now() + from_ms(30'000);
    while (asked_us() != us && clock.now() < give_up) {
      (void)thread_timer().sleep_until(clock.now() + from_ms(1));
    }
    return asked_us() == us;
  }

  temporary_directory directory;
  std::string device = directory.file("cpu_dma_latency");
};

constexpr int32_t any_us = 2'000'000'000;

TEST_F(a_latency_keeper, asks_for_nothing_until_a_wait_is_due) {
  latency_keeper keeper(true, device.c_str());
  EXPECT_FALSE(keeper.snapshot().held);
  EXPECT_EQ(asked_us(), std::nullopt);
  keeper.begin();
  EXPECT_TRUE(comes_to_ask(0));
  EXPECT_TRUE(keeper.snapshot().held);
}

TEST_F(a_latency_keeper, lets_go_a_while_after_the_last_wait) {
  latency_keeper keeper(true, device.c_str());
  const steady_clock clock;
  keeper.begin();
  ASSERT_TRUE(comes_to_ask(0));
  const instant ended = clock.now();
  keeper.end();
  ASSERT_TRUE(comes_to_ask(any_us));
  EXPECT_GE(clock.now() - ended, latency_hold::kept);
  EXPECT_FALSE(keeper.snapshot().held);
  EXPECT_EQ(keeper.snapshot().changes, 2u);
}

TEST_F(a_latency_keeper, holds_again_for_the_next_wait) {
  latency_keeper keeper(true, device.c_str());
  for (int round = 0; round < 2; ++round) {
    keeper.begin();
    ASSERT_TRUE(comes_to_ask(0)) << round;
    keeper.end();
    ASSERT_TRUE(comes_to_ask(any_us)) << round;
  }
}

TEST_F(a_latency_keeper, that_was_not_wanted_opens_nothing) {
  latency_keeper keeper(false, "/nonexistent/cpu_dma_latency");
  keeper.begin();
  keeper.end();
  EXPECT_FALSE(keeper.snapshot().requested);
  EXPECT_EQ(keeper.snapshot().refused, std::nullopt);
}

TEST_F(a_latency_keeper, that_is_refused_says_why_and_goes_on) {
  latency_keeper keeper(true, "/nonexistent/cpu_dma_latency");
  keeper.begin();
  keeper.end();
  const cpu_latency_snapshot s = keeper.snapshot();
  EXPECT_TRUE(s.requested);
  EXPECT_FALSE(s.held);
  ASSERT_TRUE(s.refused);
  EXPECT_NE(s.refused->find("/nonexistent/cpu_dma_latency"), std::string::npos);
}

TEST(due_waits, are_told_once_however_often_they_are_said) {
  const temporary_directory directory;
  const std::string device = directory.file("cpu_dma_latency");
  std::ofstream(device).flush();
  latency_keeper keeper(true, device.c_str());
  {
    due_waits due(&keeper);
    for (int i = 0; i < 3; ++i) due.say(true);
  }
  due_waits nobody(nullptr);
  nobody.say(true);
  const steady_clock clock;
  const instant give_up = clock.now() + from_ms(30'000);
  while (keeper.snapshot().changes < 2 && clock.now() < give_up) {
    (void)thread_timer().sleep_until(clock.now() + from_ms(1));
  }
  EXPECT_EQ(keeper.snapshot().changes, 2u) << "held and let go";
}

}  // namespace
}  // namespace gar
