#include "lib/linux/word_wait.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <utility>

#include "lib/linux/steady_clock.hpp"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace gar {

namespace detail {

void relax_cpu() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // "yield" does nothing on most of these cores
#endif
}

void sleep_shortly(instant at) {
  const timespec deadline = to_timespec(at);
  // Interrupted is early, and early is allowed.
  ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, nullptr);
}

void yield_cpu() {
  ::sched_yield();
}

}  // namespace detail

#if defined(__x86_64__)

namespace {

struct reading {
  uint64_t tsc;
  instant at;
};

// The counter in the middle of a clock reading; the narrowest of a few, so that an interrupt in
// between does not count.
reading read_both() {
  steady_clock clock;
  reading best{};
  uint64_t narrowest_tsc = ~uint64_t{0};
  for (int i = 0; i < 5; ++i) {
    const uint64_t before_tsc = __rdtsc();
    const instant at = clock.now();
    const uint64_t width_tsc = __rdtsc() - before_tsc;
    if (width_tsc < narrowest_tsc) {
      narrowest_tsc = width_tsc;
      best = {before_tsc + width_tsc / 2, at};
    }
  }
  return best;
}

}  // namespace

tick_rate measure_tsc_rate() {
  const reading first = read_both();
  detail::sleep_shortly(first.at + from_ms(1));
  const reading second = read_both();
  return {second.tsc - first.tsc, (second.at - first.at).ns};
}

#else

tick_rate measure_tsc_rate() {
  return {};
}

#endif

// The one maker of permits.
class word_wait_prober {
 public:
  static word_wait_probe probe(software_wait how, std::span<const monitor_pair* const> pairs,
                               instant (*now)()) {
    std::string why;
    for (const monitor_pair* pair : pairs) {
      std::string refused = pair->absent();
      const tick_rate rate = refused.empty() ? pair->rate() : tick_rate{};
      if (refused.empty() && !rate) refused = "its counter has no frequency";
      if (refused.empty()) {
        const duration lasted = usual_park(*pair, rate, now);
        std::string seen = seen_parking(lasted);
        if (lasted >= lasts_at_least) {
          if (pair->kernel_bound) seen += "; " + pair->kernel_bound();
          return {{pair->kind, true, std::move(seen)}, word_waiter(park_permit(*pair, rate), how)};
        }
        refused = "it " + seen;
      }
      if (!is_of_this_architecture(pair->kind)) continue;
      why +=
          (why.empty() ? "no " : ", no ") + std::string(name_of(pair->kind)) + " (" + refused + ")";
    }
    if (why.empty()) why = "no instructions are known for this architecture";
    return {{word_wait_kind::software, false, why}, word_waiter(how)};
  }

 private:
  // Short enough for any bound of the hardware, long enough to tell from an instruction that does
  // not wait. An interrupt may end a few of the tries early, and a machine that takes the CPU away
  // lengthen a few: the one in the middle counts.
  static constexpr duration asked = from_us(30);
  static constexpr duration lasts_at_least = from_us(10);
  static constexpr int tries = 8;

  static duration usual_park(const monitor_pair& pair, tick_rate rate, instant (*now)()) {
    static proto::completion_line quiet{};
    std::array<duration, tries> lasted;
    for (duration& each : lasted) {
      pair.arm(quiet.word);
      const instant before = now();
      pair.wait(asked, rate);
      each = now() - before;
    }
    std::nth_element(lasted.begin(), lasted.begin() + tries / 2, lasted.end());
    return lasted[tries / 2];
  }

  static std::string seen_parking(duration lasted) {
    return "parked for " + std::to_string(lasted.ns / 1000) + " us where " +
           std::to_string(asked.ns / 1000) + " us were asked";
  }

  static bool is_of_this_architecture(word_wait_kind kind) {
    const bool x86 = kind == word_wait_kind::umwait || kind == word_wait_kind::mwaitx;
#if defined(__x86_64__)
    return x86;
#elif defined(__aarch64__)
    return !x86;
#else
    (void)x86;
    return false;
#endif
  }
};

word_wait_probe probe_word_wait(software_wait how, std::span<const monitor_pair* const> pairs) {
  return word_wait_prober::probe(how, pairs, [] { return steady_clock().now(); });
}

word_wait_probe probe_word_wait(software_wait how, std::span<const monitor_pair* const> pairs,
                                instant (*now)()) {
  return word_wait_prober::probe(how, pairs, now);
}

}  // namespace gar
