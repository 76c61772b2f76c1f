// umonitor, umwait: Intel's pair for user mode (WAITPKG). The bound is an absolute TSC value, and
// the kernel's own bound on top of it.
#include <fstream>
#include <optional>

#include "lib/core/error.hpp"
#include "lib/linux/monitor_pair.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace gar {
namespace {

#if defined(__x86_64__)

std::string absent() {
  unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned int waitpkg = 1u << 5;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ecx & waitpkg)) return {};
  return "this CPU does not report WAITPKG";
}

__attribute__((target("waitpkg"))) void arm(const uint64_t* line) {
  _umonitor(const_cast<uint64_t*>(line));
}

constexpr const char* kernel_bound_file = "/sys/devices/system/cpu/umwait_control/max_time";

// Read once: whoever changes it later changes how often a wait ends early, no more.
uint64_t kernel_limit_ticks() {
  static const uint64_t ticks = [] {
    std::ifstream file(kernel_bound_file);
    uint64_t max_time = 0;
    return umwait_limit_ticks(file >> max_time ? std::optional(max_time) : std::nullopt);
  }();
  return ticks;
}

std::string kernel_bound() {
  const uint64_t ticks = kernel_limit_ticks();
  if (ticks == std::numeric_limits<uint64_t>::max()) return "the kernel bounds no wait";
  return "the kernel ends each after " + std::to_string(ticks) + " TSC ticks (" +
         kernel_bound_file + ")";
}

__attribute__((target("waitpkg"))) void wait(duration left, tick_rate rate) {
  constexpr unsigned int c0_2 = 0;  // the deeper of the two light sleeps
  const uint64_t ticks = std::min(ticks_in(left, rate), kernel_limit_ticks());
  _umwait(c0_2, deadline_tsc(__rdtsc(), ticks));
}

#else

std::string absent() {
  return "umwait is of x86 CPUs";
}
void arm(const uint64_t*) {
  GAR_ASSERT(!"umonitor on this architecture");
}
void wait(duration, tick_rate) {
  GAR_ASSERT(!"umwait on this architecture");
}
std::string kernel_bound() {
  return {};
}

#endif

}  // namespace

const monitor_pair umwait_pair{
    word_wait_kind::umwait, absent, measure_tsc_rate, arm, wait, kernel_bound};

}  // namespace gar
