#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <thread>

#include "lib/linux/cpu_latency.hpp"
#include "lib/linux/futex.hpp"
#include "lib/linux/sleep_overshoot.hpp"
#include "lib/linux/steady_clock.hpp"
#include "lib/linux/thread_timer.hpp"
#include "lib/linux/timer_slack.hpp"

namespace gar {
namespace {

TEST(steady_clock, never_goes_backwards) {
  steady_clock clock;
  instant last = clock.now();
  for (int i = 0; i < 1000; ++i) {
    const instant now = clock.now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(steady_clock, counts_the_cpu_time_of_the_calling_thread) {
  const duration before = steady_clock::thread_cpu_time();
  steady_clock clock;
  const instant until = clock.now() + from_ms(2);
  while (clock.now() < until) {
  }
  EXPECT_GT(steady_clock::thread_cpu_time(), before);
}

TEST(steady_clock, an_instant_becomes_seconds_and_nanoseconds) {
  const timespec t = to_timespec({3'000'000'007});
  EXPECT_EQ(t.tv_sec, 3);
  EXPECT_EQ(t.tv_nsec, 7);
}

TEST(interruptible_timer, an_interruption_ends_the_sleep_and_every_later_one) {
  steady_clock clock;
  interrupt_word word;
  interruptible_timer timer(word);
  std::thread interrupter([&] { word.interrupt(); });
  const result<void> first = timer.sleep_until(clock.now() + from_ms(60'000));
  interrupter.join();
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code(), errc::Cancelled);
  const result<void> second = timer.sleep_until(clock.now() + from_ms(60'000));
  EXPECT_FALSE(second);
}

TEST(timer_slack, what_was_set_is_read_back) {
  std::thread own([] {
    ASSERT_TRUE(set_timer_slack_ns(timer_slack_ns_least));
    EXPECT_EQ(*timer_slack_ns(), timer_slack_ns_least);
  });
  own.join();
}

TEST(timer_slack, the_least_slack_lasts_as_long_as_its_object) {
  std::thread own([] {
    ASSERT_TRUE(set_timer_slack_ns(7000));
    {
      least_timer_slack least;
      EXPECT_EQ(*timer_slack_ns(), timer_slack_ns_least);
    }
    EXPECT_EQ(*timer_slack_ns(), 7000u);
  });
  own.join();
}

TEST(sleep_overshoot, is_measured_and_leaves_the_timer_slack_as_it_was) {
  const uint64_t before_ns = timer_slack_ns().value();
  const duration overshoot = measure_sleep_overshoot();
  EXPECT_GT(overshoot, duration{}) << "no sleep ends exactly when it should";
  EXPECT_EQ(timer_slack_ns().value(), before_ns);
  std::printf("sleeps of 1 ms end %llu ns late\n", static_cast<unsigned long long>(overshoot.ns));
}

TEST(sleep_overshoot, one_bad_sleep_of_a_few_does_not_count) {
  std::array<duration, 5> seen{{{40}, {9'000'000}, {35}, {50}, {38}}};
  EXPECT_EQ(judge_overshoots(seen), duration{40});
  EXPECT_EQ(judge_overshoots({}), duration{});
}

TEST(sleep_overshoot, of_a_busy_moment_does_not_keep_waits_from_sleeping) {
  std::array<duration, 1> one{{from_ms(66)}};
  EXPECT_EQ(judge_overshoots(one), from_ms(1));
  std::array<duration, 5> most{
      {from_us(50), from_us(2600), from_us(900), from_us(800), from_us(70)}};
  EXPECT_EQ(judge_overshoots(most), from_us(200)) << "four times the least";
}

TEST(cpu_latency, says_which_device_was_refused) {
  const result<cpu_latency> none = cpu_latency::open("/nonexistent/cpu_dma_latency");
  ASSERT_TRUE(none.has_error());
  EXPECT_NE(none.error().text().find("/nonexistent/cpu_dma_latency"), std::string::npos);
}

// The real one, where this process may: asks for nothing, for 0, for nothing again.
TEST(cpu_latency, holds_and_releases) {
  result<cpu_latency> opened = cpu_latency::open();
  if (!opened) GTEST_SKIP() << opened.error().text();
  EXPECT_TRUE(opened->hold());
  EXPECT_TRUE(opened->release());
  EXPECT_TRUE(opened->hold()) << "again";
}

TEST(futex, a_changed_word_is_not_slept_over) {
  uint32_t word = 1;
  EXPECT_EQ(futex_wait(word, 0), futex_ended::look_again);
}

TEST(futex, gives_up_at_its_deadline) {
  steady_clock clock;
  uint32_t word = 0;
  const instant until = clock.now() + from_us(500);
  futex_ended ended = futex_ended::look_again;
  while (ended == futex_ended::look_again) ended = futex_wait(word, 0, until);
  EXPECT_EQ(ended, futex_ended::timed_out);
  EXPECT_GE(clock.now(), until);
}

}  // namespace
}  // namespace gar
