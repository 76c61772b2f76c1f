// Look pace: when a thread without a hardware monitor looks at the words it waits for.
//
// Looking without a pause answers at once and burns a core; sleeping between looks costs next to
// nothing and answers late. Which is right depends on whether something is expected just now: after
// a predicted sleep, behind another completion, at the begin of a wait. So the spin is a budget of
// time that `expect` starts, and no park starts anew. When it is used up the sleeps begin, short
// ones at first; they grow with the time that has passed, so that an answer is late by a small part
// of the wait and a wait without an end costs little.
//
//     expect --> looks, for `spin` --> sleeps of `sleep`, then of 1/32 of the time since expect, to
//                                      1 ms at most
//
// The budget is wall time: a thread that others keep from running spends it all the same, and what
// it may take from them stays bounded.
//
// Pure: instants in, what to do out. Threads: values. Allocation: none.
#pragma once

#include <algorithm>
#include <cstdint>

#include "lib/core/time.hpp"

namespace gar {

// How a thread waits for a word in software.
struct software_wait {
  uint32_t spin_ns = 300'000;
  uint32_t sleep_ns = 20'000;  // 0: give the CPU to others instead of sleeping
};

inline constexpr duration software_step_max = from_ms(10);  // of either: no single park is longer

class look_pace {
 public:
  static constexpr uint64_t part_of_wait = 32;
  static constexpr duration grown_most = from_ms(1);

  enum class step : uint8_t { look, give_way, sleep };
  struct next_step {
    step what;
    instant until;  // of a sleep
    bool operator==(const next_step&) const = default;
  };

  explicit look_pace(software_wait how = {}) : how_(how) {}

  // There is reason to expect it, now or at a later time; until then it is looked for all along.
  void expect(instant at) { expected_ = at; }

  // After a look that found nothing; `until` is the park's bound.
  next_step next(instant now, instant until) const {
    const duration passed = now - expected_;
    if (passed < duration{how_.spin_ns}) return {step::look, {}};
    if (how_.sleep_ns == 0) return {step::give_way, {}};
    const duration grown = std::min(passed / part_of_wait, grown_most);
    return {step::sleep, std::min(now + std::max(duration{how_.sleep_ns}, grown), until)};
  }

 private:
  software_wait how_;
  instant expected_;  // long ago, at first
};

}  // namespace gar
