// The machine's monotonic clock, as the core takes time.
//
// CLOCK_MONOTONIC and not CLOCK_BOOTTIME, because timers, futexes and io_uring take it without
// asking; a suspended machine has no waits to measure.
//
// Threads: any. Blocking: no (the vDSO answers). Allocation: no.
#pragma once

#include <pthread.h>
#include <time.h>

#include "lib/core/time.hpp"
#include "lib/port/clock_port.hpp"

namespace gar {

class steady_clock {
 public:
  instant now() const { return read(CLOCK_MONOTONIC); }

  // CPU time that the calling thread has used: what a wait costs, where getrusage lags.
  static duration thread_cpu_time() { return {read(CLOCK_THREAD_CPUTIME_ID).ns}; }
  // The same for another thread of the process, which must not have been joined.
  static duration cpu_time_of(pthread_t thread) {
    clockid_t id{};
    if (::pthread_getcpuclockid(thread, &id) != 0) return {};
    return {read(id).ns};
  }

 private:
  static instant read(clockid_t id) {
    timespec t{};
    ::clock_gettime(id, &t);
    return {static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec)};
  }
};

static_assert(clock_port<steady_clock>);

// An instant as the kernel takes it, absolute on CLOCK_MONOTONIC. The last instant is 584 years
// away and needs no case of its own.
inline timespec to_timespec(instant at) {
  return {static_cast<time_t>(at.ns / 1'000'000'000), static_cast<long>(at.ns % 1'000'000'000)};
}

}  // namespace gar
