#include <gtest/gtest.h>

#include <thread>

#include "lib/linux/futex.hpp"
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
