// One pair of instructions that watches a line of memory: arm it, then wait for a store to it.
//
// A pair is data: whether this CPU has it, its counter, its two steps. One file has each:
// word_wait_umwait.cpp, word_wait_mwaitx.cpp, word_wait_wfe.cpp. Every file compiles everywhere; on
// the wrong architecture the pair is absent and its steps are never reached.
//
// Invariants: a wait may end early at any time; it is bounded by what it is given, or by the
// kernel's event stream (wfe). Nobody executes a pair that `absent` speaks against: umwait would
// fault, mwaitx might silently not wait.
// Threads: arm and wait by the same thread, with nothing but the re-check in between.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "lib/core/time.hpp"
#include "lib/linux/tick_rate.hpp"
#include "lib/linux/word_wait_kind.hpp"

namespace gar {

struct monitor_pair {
  word_wait_kind kind;
  // Why this CPU or kernel does not have it; empty: it has.
  std::string (*absent)();
  // The rate of the counter that bounds the wait. May take a millisecond to find out.
  tick_rate (*rate)();
  void (*arm)(const uint64_t* line);
  void (*wait)(duration left, tick_rate rate);
  // The kernel's own bound on one wait, as a sentence's part; nullptr: it has none.
  std::string (*kernel_bound)() = nullptr;
};

extern const monitor_pair umwait_pair;
extern const monitor_pair mwaitx_pair;
extern const monitor_pair wfet_pair;
extern const monitor_pair wfe_pair;

// In the order of preference.
inline constexpr std::array<const monitor_pair*, 4> monitor_pairs{&umwait_pair, &mwaitx_pair,
                                                                  &wfet_pair, &wfe_pair};

// Ticks per time of the x86 time stamp counter, measured against the steady clock in a millisecond
// of sleep; exact to about 1 in 10'000, which is 1 us in the longest park.
tick_rate measure_tsc_rate();

}  // namespace gar
