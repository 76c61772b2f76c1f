// monitorx, mwaitx: AMD's pair for user mode (MONITORX). The bound is a relative 32-bit count of
// TSC ticks.
#include "lib/core/error.hpp"
#include "lib/linux/monitor_pair.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace gar {
namespace {

#if defined(__x86_64__)

std::string absent() {
  unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned int monitorx = 1u << 29;
  if (__get_cpuid(0x8000'0001, &eax, &ebx, &ecx, &edx) && (ecx & monitorx)) return {};
  return "this CPU does not report MONITORX";
}

__attribute__((target("mwaitx"))) void arm(const uint64_t* line) {
  _mm_monitorx(const_cast<uint64_t*>(line), 0, 0);
}

__attribute__((target("mwaitx"))) void wait(duration left, tick_rate rate) {
  constexpr unsigned int timer_on = 1u << 1;
  constexpr unsigned int c1 = 0;  // the lightest sleep
  _mm_mwaitx(timer_on, c1, relative_ticks32(ticks_in(left, rate)));
}

#else

std::string absent() {
  return "mwaitx is of x86 CPUs";
}
void arm(const uint64_t*) {
  GAR_ASSERT(!"monitorx on this architecture");
}
void wait(duration, tick_rate) {
  GAR_ASSERT(!"mwaitx on this architecture");
}

#endif

}  // namespace

const monitor_pair mwaitx_pair{word_wait_kind::mwaitx, absent, measure_tsc_rate, arm, wait};

}  // namespace gar
