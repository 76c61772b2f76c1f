// Host timing: what sleeping, waking, working after a sleep and reading the clock cost on this
// host.
//
// Advice on a host is a list of settings; whether one of them costs anything here is known only by
// trying. Each figure is the median of a few tries.
//
//     sleep   how late a sleep of 1 ms ends: with the thread's own timer slack, with the least,
//             and with the least while every CPU is held out of deep sleep
//     wake    from the store and futex wake to the thread running that had slept on the word for
//             1 ms; likewise held and not
//     work    how long the same work takes warm, and how long just after 10 ms of sleep
//     clock   one reading of the steady clock
//
// Invariants: the machine's CPUs are held for some 40 ms, in turns, and only where
// /dev/cpu_dma_latency may be opened; slack and holding are put back.
//
// Threads: any; a thread of its own is started and joined. Blocking: some 300 ms, and on a busy
// host `host_timing_budget` at most, beyond which fewer tries count.
//
// Errors: none; what could not be tried is absent, and `why_not_held` says why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/core/time.hpp"

namespace gar {

inline constexpr duration host_timing_budget = from_ms(1500);

struct host_timing {
  uint64_t slack_ns = 0;  // the thread's own
  duration sleep_late;
  duration sleep_late_exact;
  std::optional<duration> sleep_late_held;
  duration wake;
  std::optional<duration> wake_held;
  std::string why_not_held;
  duration work_warm;
  duration work_after_sleep;
  duration clock_reading;
};

host_timing measure_host_timing();

}  // namespace gar
