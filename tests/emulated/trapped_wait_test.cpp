// Which bound each instruction is given, read out of its registers on a CPU that does not have it.
//
// Such a CPU traps at the instruction, so the handler sees what it was to do to the last tick. It
// shows the bound of wfet too, which no emulator waits for.
#include <gtest/gtest.h>
#include <signal.h>
#include <ucontext.h>

#include "guest_cpu.hpp"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace gar::emulated {
namespace {

// What the last instruction that trapped was, and what it was given.
struct trapped {
  word_wait_kind kind = word_wait_kind::software;
  uint64_t bound_tsc = 0;
  uint64_t extensions = 0;
};

trapped last;

// Both take the instruction apart and step over it.
#if defined(__x86_64__)

uint64_t counter_tsc() {
  return __rdtsc();
}

void take_apart(ucontext_t& at) {
  auto& registers = at.uc_mcontext.gregs;
  const auto* code = reinterpret_cast<const uint8_t*>(registers[REG_RIP]);
  const bool long_register = (code[1] & 0xf0) == 0x40;
  const uint8_t* opcode = code + (long_register ? 2 : 1);
  if (code[0] == 0xf2 && opcode[0] == 0x0f && opcode[1] == 0xae) {
    const auto high = static_cast<uint64_t>(registers[REG_RDX]) << 32;
    last = {word_wait_kind::umwait, high | static_cast<uint32_t>(registers[REG_RAX]), 0};
    registers[REG_RIP] += opcode + 3 - code;
  } else if (code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xfb) {
    last = {word_wait_kind::mwaitx, static_cast<uint64_t>(registers[REG_RBX]),
            static_cast<uint64_t>(registers[REG_RCX])};
    registers[REG_RIP] += 3;
  } else {
    ::_exit(124);
  }
}

#else

uint64_t counter_tsc() {
  uint64_t value;
  asm volatile("isb; mrs %0, cntvct_el0" : "=r"(value)::"memory");
  return value;
}

void take_apart(ucontext_t& at) {
  constexpr uint32_t wfet = 0xd503'1000;
  constexpr uint32_t which_register = 0x1f;
  const uint32_t code = *reinterpret_cast<const uint32_t*>(at.uc_mcontext.pc);
  if ((code & ~which_register) != wfet) ::_exit(124);
  last = {word_wait_kind::wfet, at.uc_mcontext.regs[code & which_register], 0};
  at.uc_mcontext.pc += 4;
}

#endif

class bound_of_cpu_without : public testing::Test {
 protected:
  bound_of_cpu_without() {
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = [](int, siginfo_t*, void* context) {
      take_apart(*static_cast<ucontext_t*>(context));
    };
    ::sigaction(SIGILL, &action, &before_);
    last = {};
  }
  ~bound_of_cpu_without() override { ::sigaction(SIGILL, &before_, nullptr); }

  static constexpr std::array<uint64_t, 4> bounds_us{1, 50, 100, 1000};

  // An absolute bound: so many ticks after a moment within the call.
  static void expect_absolute(const monitor_pair& pair) {
    const tick_rate rate{guest_khz(), 1'000'000};
    for (const uint64_t us : bounds_us) {
      const uint64_t ticks = us * guest_khz() / 1000;
      const uint64_t before_tsc = counter_tsc();
      pair.wait(from_us(us), rate);
      const uint64_t after_tsc = counter_tsc();
      EXPECT_EQ(last.kind, pair.kind);
      EXPECT_GE(last.bound_tsc, before_tsc + ticks) << us;
      EXPECT_LE(last.bound_tsc, after_tsc + ticks) << us;
    }
  }

 private:
  struct sigaction before_ {};
};

#if defined(__x86_64__)

TEST_F(bound_of_cpu_without, umwait_is_given_a_value_of_the_counter) {
  expect_absolute(umwait_pair);
}

TEST_F(bound_of_cpu_without, mwaitx_is_given_a_count_of_32_bits_and_told_to_keep_it) {
  constexpr uint64_t timer_on = 2;
  const tick_rate rate{guest_khz(), 1'000'000};
  for (const uint64_t us : bounds_us) {
    mwaitx_pair.wait(from_us(us), rate);
    EXPECT_EQ(last.kind, word_wait_kind::mwaitx);
    EXPECT_EQ(last.bound_tsc, us * guest_khz() / 1000);
    EXPECT_EQ(last.extensions, timer_on);
  }
  mwaitx_pair.wait(from_ms(3'600'000), rate);  // more than 32 bits of ticks
  EXPECT_EQ(last.bound_tsc, 0xffff'ffffu);
}

#else

TEST_F(bound_of_cpu_without, wfet_is_given_a_value_of_the_counter) {
  expect_absolute(wfet_pair);
}

#endif

}  // namespace
}  // namespace gar::emulated
