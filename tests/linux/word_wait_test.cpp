#include "lib/linux/word_wait.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/linux/steady_clock.hpp"

namespace gar {
namespace {

constexpr uint64_t u64_max = std::numeric_limits<uint64_t>::max();
constexpr tick_rate two_ghz{2'000'000, 1'000'000};

TEST(tick_rate, nanoseconds_become_ticks_rounded_down) {
  EXPECT_EQ(ticks_in({1000}, two_ghz), 2000u);
  EXPECT_EQ(ticks_in({3}, {1, 2}), 1u);
  EXPECT_EQ(ticks_in({0}, two_ghz), 0u);
  EXPECT_EQ(ticks_in(from_ms(10), {2'596'123'457, 1'000'000'000}), 25'961'234u);
}

TEST(tick_rate, conversions_saturate) {
  EXPECT_EQ(ticks_in(duration::max(), two_ghz), u64_max);
  EXPECT_EQ(deadline_tsc(u64_max - 5, 6), u64_max);
  EXPECT_EQ(deadline_tsc(100, 7), 107u);
}

TEST(tick_rate, a_relative_count_fits_32_bits_and_is_never_0) {
  EXPECT_EQ(relative_ticks32(0), 1u);
  EXPECT_EQ(relative_ticks32(12), 12u);
  EXPECT_EQ(relative_ticks32(uint64_t{1} << 32), 0xffff'ffffu);
  EXPECT_EQ(relative_ticks32(u64_max), 0xffff'ffffu);
}

TEST(tick_rate, the_kernels_limit_of_one_umwait_is_what_its_file_says) {
  EXPECT_EQ(umwait_limit_ticks(std::nullopt), 100'000u) << "a kernel without the file";
  EXPECT_EQ(umwait_limit_ticks(4'000), 4'000u);
  EXPECT_EQ(umwait_limit_ticks(0), u64_max) << "lifted";
}

// Each reading is one step later.
struct stepping_clock {
  instant at;
  duration step;
  instant now() { return at = at + step; }
};

// A pair of instructions that counts what is done with it.
struct counted {
  std::string steps;  // A arm, W wait
  duration asked;     // by the last wait
  tick_rate rate;
  instant probed_at;  // the time that a probe goes by
  std::function<void()> on_arm = [] {};
  std::function<void()> on_wait = [] {};
};
counted* counting = nullptr;

void lasts(duration park) {
  counting->probed_at = counting->probed_at + park;
}

const monitor_pair counting_pair{word_wait_kind::umwait,
                                 [] { return std::string(); },
                                 [] { return two_ghz; },
                                 [](const uint64_t*) {
                                   counting->steps += 'A';
                                   counting->on_arm();
                                 },
                                 [](duration left, tick_rate rate) {
                                   counting->steps += 'W';
                                   counting->asked = left;
                                   counting->rate = rate;
                                   counting->on_wait();
                                 },
                                 [] { return std::string("the kernel ends each after 7 ticks"); }};

class a_counted_pair : public testing::Test {
 protected:
  void SetUp() override { counting = &seen; }
  void TearDown() override { counting = nullptr; }
  word_wait_probe probed() {
    seen.on_wait = [] { lasts(from_us(30)); };
    const word_wait_probe p = probe();
    seen = {};
    return p;
  }
  // Time passes in its waits alone.
  static word_wait_probe probe() {
    const monitor_pair* pair = &counting_pair;
    return probe_word_wait({}, std::span(&pair, 1), [] { return counting->probed_at; });
  }
  counted seen;
  stepping_clock clock{{1000}, {10}};
  proto::completion_line line{};
};

TEST_F(a_counted_pair, is_permitted_where_a_park_lasted_and_says_how_it_is_bounded) {
  const word_wait_probe p = probed();
  EXPECT_TRUE(p.report.hardware);
  EXPECT_EQ(p.report.why,
            "parked for 30 us where 30 us were asked; the kernel ends each after 7 ticks");
}

TEST_F(a_counted_pair, is_refused_where_its_wait_returns_at_once) {
  const word_wait_probe p = probe();
  EXPECT_FALSE(p.report.hardware);
  EXPECT_EQ(p.waiter.kind(), word_wait_kind::software);
  EXPECT_EQ(seen.steps, "AWAWAWAWAWAWAWAW");
}

TEST_F(a_counted_pair, is_refused_though_the_cpu_was_taken_away_in_one_of_its_waits) {
  int waits = 0;
  seen.on_wait = [&] {
    if (++waits == 3) lasts(from_ms(4));
  };
  EXPECT_FALSE(probe().report.hardware);
  EXPECT_EQ(waits, 8);
}

TEST_F(a_counted_pair, is_permitted_though_interrupts_ended_some_of_its_waits) {
  int waits = 0;
  seen.on_wait = [&] {
    if (++waits > 3) lasts(from_us(30));
  };
  EXPECT_TRUE(probe().report.hardware);
  EXPECT_EQ(waits, 8);
}

TEST_F(a_counted_pair, is_never_executed_where_it_is_absent_or_its_counter_stands_still) {
  monitor_pair absent = counting_pair;
  absent.absent = [] { return std::string("not here"); };
  EXPECT_FALSE(probe_word_wait({}, std::array{&std::as_const(absent)}).report.hardware);
  monitor_pair stopped = counting_pair;
  stopped.rate = [] { return tick_rate{0, 1'000'000'000}; };
  EXPECT_FALSE(probe_word_wait({}, std::array{&std::as_const(stopped)}).report.hardware);
  EXPECT_EQ(seen.steps, "");
}

TEST_F(a_counted_pair, is_armed_then_looked_behind_then_waited_on) {
  const word_waiter waiter = probed().waiter;
  int looks = 0;
  const auto waiting = [&] {
    seen.steps += 'L';
    return ++looks < 4;
  };
  waiter.wait(line, waiting, instant::never(), clock);
  EXPECT_EQ(seen.steps, "ALWLALWL");
  EXPECT_EQ(seen.rate.ticks, two_ghz.ticks);
}

TEST_F(a_counted_pair, does_not_wait_over_a_store_that_came_before_the_look) {
  const word_waiter waiter = probed().waiter;
  seen.on_arm = [&] { proto::store_word(line.word[3], 1); };
  waiter.wait(
      line, [&] { return proto::load_word(line.word[3]) == 0; }, instant::never(), clock);
  EXPECT_EQ(seen.steps, "A");
}

TEST_F(a_counted_pair, is_asked_for_no_more_than_what_is_left) {
  const word_waiter waiter = probed().waiter;
  const instant until{5000};
  std::vector<uint64_t> asked_ns;
  seen.on_wait = [&] {
    asked_ns.push_back(seen.asked.ns);
    clock.at = clock.at + duration{1500};  // ended early
  };
  waiter.wait(
      line, [] { return true; }, until, clock);
  EXPECT_EQ(asked_ns, (std::vector<uint64_t>{3980, 2470, 960}));
  EXPECT_GE(clock.at, until);
}

TEST(word_wait, nobody_but_the_probe_makes_a_permit) {
  static_assert(!std::is_constructible_v<park_permit, const monitor_pair&, tick_rate>);
  static_assert(!std::is_default_constructible_v<park_permit>);
}

TEST(word_wait, by_looking_ends_as_soon_as_the_look_says_so) {
  stepping_clock clock{{}, {1}};
  int looks = 0;
  word_waiter::wait_by_looking([&] { return ++looks < 5; }, instant::never(), clock, look_pace());
  EXPECT_EQ(looks, 5);
}

TEST(word_wait, by_looking_ends_at_its_bound_while_it_spins) {
  stepping_clock clock{{}, {1000}};
  int looks = 0;
  word_waiter::wait_by_looking([&] { return ++looks > 0; }, {10'000}, clock,
                               look_pace({.spin_ns = 1'000'000, .sleep_ns = 1}));
  EXPECT_GT(looks, 0);
  EXPECT_LE(clock.at, (instant{20'000}));
}

TEST(word_wait, by_looking_ends_at_its_bound_while_it_sleeps) {
  for (uint32_t sleep_ns : {0u, 100u}) {
    stepping_clock clock{{}, {1000}};
    word_waiter::wait_by_looking([] { return true; }, {10'000}, clock,
                                 look_pace({.spin_ns = 0, .sleep_ns = sleep_ns}));
    EXPECT_GE(clock.at, (instant{10'000}));
  }
}

TEST(word_wait, a_pace_that_is_kept_spins_once_and_not_in_each_park) {
  const word_waiter waiter(software_wait{.spin_ns = 50'000, .sleep_ns = 1'000});
  stepping_clock clock{{}, {100}};
  proto::completion_line line{};
  look_pace pace = waiter.pace();
  pace.expect(clock.at);
  int naps_before_spin_ended = 0;
  int naps = 0;
  const instant spin_ends = clock.at + duration{50'000};
  for (int park = 1; park <= 10; ++park) {
    const auto nap = [&](instant until) {
      ++naps;
      if (clock.at < spin_ends) ++naps_before_spin_ended;
      EXPECT_LE(until, (instant{park * 20'000u}));
      clock.at = until;
    };
    waiter.wait(
        line, [] { return true; }, {park * 20'000u}, clock, pace, nap);
  }
  EXPECT_EQ(naps_before_spin_ended, 0);
  EXPECT_GT(naps, 20);
}

TEST(word_wait, a_past_bound_returns_at_once) {
  steady_clock clock;
  proto::completion_line line{};
  word_wait_probe probe = probe_word_wait();
  const instant before = clock.now();
  probe.waiter.wait(
      line, [] { return true; }, {1}, clock);
  EXPECT_LT(clock.now() - before, from_ms(500));
}

TEST(word_wait, the_probe_says_what_it_found_and_why) {
  const word_wait_probe probe = probe_word_wait();
  EXPECT_EQ(probe.report.kind, probe.waiter.kind());
  EXPECT_EQ(probe.report.hardware, probe.waiter.hardware());
  EXPECT_EQ(probe.report.hardware, probe.report.kind != word_wait_kind::software);
  EXPECT_FALSE(probe.report.why.empty());
  std::printf("word wait: %s, %s\n", std::string(name_of(probe.report.kind)).c_str(),
              probe.report.why.c_str());
}

TEST(word_wait, a_park_lasts_to_its_bound_when_nobody_stores) {
  steady_clock clock;
  proto::completion_line line{};
  const word_waiter waiter = probe_word_wait().waiter;
  const instant until = clock.now() + from_us(300);
  waiter.wait(
      line, [&] { return proto::load_word(line.word[0]) == 0; }, until, clock);
  EXPECT_GE(clock.now(), until);
}

TEST(word_wait, a_store_by_another_thread_ends_the_park) {
  steady_clock clock;
  proto::completion_line line{};
  const word_waiter waiter = probe_word_wait().waiter;
  for (uint64_t round = 1; round <= 20; ++round) {
    std::atomic<bool> parking = false;
    std::thread producer([&] {
      while (!parking.load()) std::this_thread::yield();
      proto::store_word(line.word[round % 8], round);
    });
    auto waiting = [&] {
      parking.store(true);
      return proto::load_word(line.word[round % 8]) != round;
    };
    waiter.wait(line, waiting, clock.now() + from_ms(60'000), clock);
    EXPECT_EQ(proto::load_word(line.word[round % 8]), round);
    producer.join();
  }
}

TEST(word_wait, a_store_between_the_look_and_the_arming_is_seen) {
  steady_clock clock;
  proto::completion_line line{};
  int looks = 0;
  // The first look after arming sees a store that came with it.
  auto waiting = [&] {
    if (++looks == 1) proto::store_word(line.word[3], 1);
    return proto::load_word(line.word[3]) == 0;
  };
  probe_word_wait().waiter.wait(line, waiting, clock.now() + from_ms(60'000), clock);
  EXPECT_EQ(looks, 1);
}

#if defined(__x86_64__)
TEST(tick_rate, the_measured_counter_rate_repeats) {
  const tick_rate first = measure_tsc_rate();
  const tick_rate second = measure_tsc_rate();
  ASSERT_TRUE(first);
  const uint64_t a = ticks_in(from_ms(100), first);
  const uint64_t b = ticks_in(from_ms(100), second);
  EXPECT_LT(a > b ? a - b : b - a, a / 100);
}
#endif

}  // namespace
}  // namespace gar
