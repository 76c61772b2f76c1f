// What the probe makes of a CPU, held against what the emulator was told to be.
#include <gtest/gtest.h>
#include <signal.h>

#include <type_traits>

#include "guest_cpu.hpp"

namespace gar::emulated {
namespace {

// What the report says against one pair; empty where it does not speak of it.
std::string_view reason_against(std::string_view pair, std::string_view why) {
  const std::string opening = "no " + std::string(pair) + " (";
  const size_t begin = why.find(opening);
  if (begin == why.npos) return {};
  return why.substr(begin + opening.size(), why.find(')', begin) - begin - opening.size());
}

bool says(std::string_view reason, std::string_view what) {
  return reason.find(what) != reason.npos;
}

#if defined(__x86_64__)
constexpr std::array<std::string_view, 2> pairs_of_architecture{"umwait", "mwaitx"};
#else
constexpr std::array<std::string_view, 2> pairs_of_architecture{"wfet", "wfe"};
#endif

TEST(probe_of_any_cpu, nothing_but_the_probe_gives_the_right_to_park) {
  static_assert(!std::is_constructible_v<park_permit, const monitor_pair&, tick_rate>);
  static_assert(!std::is_default_constructible_v<park_permit>);
  static_assert(!std::is_constructible_v<word_waiter, const monitor_pair&>);
  static_assert(!std::is_constructible_v<word_waiter, word_wait_kind>);
  EXPECT_FALSE(word_waiter().hardware());
  EXPECT_FALSE(word_waiter(software_wait{}).hardware());
}

TEST(probe_of_sleeping_cpu, takes_the_pair_that_this_cpu_has_and_saw_it_park) {
  for (int i = 0; i < 5; ++i) {
    const word_wait_probe probe = probe_word_wait();
    EXPECT_TRUE(probe.report.hardware);
    EXPECT_TRUE(probe.waiter.hardware());
    EXPECT_EQ(name_of(probe.report.kind), guest_pair());
    EXPECT_EQ(probe.waiter.kind(), probe.report.kind);
    EXPECT_TRUE(says(probe.report.why, "parked for")) << probe.report.why;
  }
}

TEST(probe_of_cpu_that_does_not_wait, refuses_although_the_cpu_says_it_has_the_pair) {
  for (int i = 0; i < 15; ++i) {
    const word_wait_probe probe = probe_word_wait();
    EXPECT_FALSE(probe.report.hardware) << probe.report.why;
    EXPECT_FALSE(probe.waiter.hardware());
    EXPECT_EQ(probe.report.kind, word_wait_kind::software);
    EXPECT_TRUE(says(reason_against(guest_pair(), probe.report.why), "it parked for"))
        << probe.report.why;
  }
}

// Of a pair that the CPU does not have the probe must not execute anything.
TEST(probe_of_cpu_without, refuses_and_says_what_is_missing) {
  const word_wait_probe probe = probe_word_wait();
  std::printf("%s\n", probe.report.why.c_str());
  for (const std::string_view pair : pairs_of_architecture) {
    if (pair == guest_pair()) continue;
    EXPECT_NE(name_of(probe.report.kind), pair);
    EXPECT_TRUE(says(reason_against(pair, probe.report.why), "this CPU does not report")) << pair;
  }
  if (guest_pair() == "software") {
    EXPECT_FALSE(probe.report.hardware);
    EXPECT_FALSE(probe.waiter.hardware());
  }
}

// What would happen without a probe: the reason for all the care.
TEST(probe_of_cpu_without, the_instructions_would_kill_the_process) {
#if defined(__x86_64__)
  static proto::completion_line line{};
  EXPECT_EXIT(umwait_pair.arm(line.word), testing::KilledBySignal(SIGILL), "");
  EXPECT_EXIT(mwaitx_pair.arm(line.word), testing::KilledBySignal(SIGILL), "");
#else
  EXPECT_EXIT(wfet_pair.wait(from_us(1), wfet_pair.rate()), testing::KilledBySignal(SIGILL), "");
#endif
}

TEST(bound_of_any_cpu, the_rate_is_that_of_the_counter) {
#if defined(__x86_64__)
  const tick_rate rate = measure_tsc_rate();
#else
  const tick_rate rate = wfet_pair.rate();
#endif
  ASSERT_TRUE(rate);
  const uint64_t ticks = ticks_in(from_ms(1), rate);
  EXPECT_NEAR(static_cast<double>(ticks), static_cast<double>(guest_khz()),
              static_cast<double>(guest_khz()) / 100);
}

}  // namespace
}  // namespace gar::emulated
