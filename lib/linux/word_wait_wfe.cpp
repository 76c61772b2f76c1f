// ldaxr with wfet or wfe: the pairs of aarch64. The exclusive load arms the monitor of its granule,
// a store by anybody else raises an event, and the wait ends with it.
//
// wfet is bounded by an absolute value of the virtual counter. wfe has no bound of its own: the
// kernel's event stream ends it about every 100 us.
//
// The monitor stays armed on purpose: a clrex would raise the event and turn every park into a
// spin.
#include "lib/core/error.hpp"
#include "lib/linux/monitor_pair.hpp"

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace gar {
namespace {

#if defined(__aarch64__)

constexpr unsigned long hwcap_event_stream = 1ul << 2;  // HWCAP_EVTSTRM
constexpr unsigned long hwcap2_wfxt = 1ul << 31;        // HWCAP2_WFXT

uint64_t counter_tsc() {
  uint64_t value;
  asm volatile("isb; mrs %0, cntvct_el0" : "=r"(value)::"memory");
  return value;
}

// Some emulators leave the frequency 0; then no bound can be told.
tick_rate counter_rate() {
  uint64_t hz;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(hz));
  return {hz, 1'000'000'000};
}

tick_rate event_stream_rate() {
  return {1, 100'000};
}

std::string wfet_absent() {
  if (!(::getauxval(AT_HWCAP2) & hwcap2_wfxt)) return "this CPU does not report WFxT";
  return {};
}

std::string wfe_absent() {
  if (!(::getauxval(AT_HWCAP) & hwcap_event_stream)) {
    return "the kernel runs no event stream (HWCAP_EVTSTRM) to bound wfe";
  }
  return {};
}

void arm(const uint64_t* line) {
  uint64_t seen;
  // With acquire: after a plain ldxr the looks that follow could be answered before it has armed,
  // and a store in between would be seen by neither.
  asm volatile("ldaxr %0, [%1]" : "=r"(seen) : "r"(line) : "memory");
}

void wait_wfet(duration left, tick_rate rate) {
  const uint64_t deadline = deadline_tsc(counter_tsc(), ticks_in(left, rate));
  // wfet, in the spelling that assemblers without FEAT_WFxT take.
  asm volatile("msr s0_3_c1_c0_0, %0" ::"r"(deadline) : "memory");
}

void wait_wfe(duration, tick_rate) {
  asm volatile("wfe" ::: "memory");
}

#else

std::string wfet_absent() {
  return "wfet is of aarch64 CPUs";
}
std::string wfe_absent() {
  return "wfe is of aarch64 CPUs";
}
tick_rate counter_rate() {
  return {};
}
tick_rate event_stream_rate() {
  return {};
}
void arm(const uint64_t*) {
  GAR_ASSERT(!"ldaxr on this architecture");
}
void wait_wfet(duration, tick_rate) {
  GAR_ASSERT(!"wfet on this architecture");
}
void wait_wfe(duration, tick_rate) {
  GAR_ASSERT(!"wfe on this architecture");
}

#endif

}  // namespace

const monitor_pair wfet_pair{word_wait_kind::wfet, wfet_absent, counter_rate, arm, wait_wfet};
const monitor_pair wfe_pair{word_wait_kind::wfe, wfe_absent, event_stream_rate, arm, wait_wfe};

}  // namespace gar
