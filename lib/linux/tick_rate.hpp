// Hardware counters beside nanoseconds: how a bound in time becomes a bound in ticks.
//
// The three hardware waits bound themselves in three units: an absolute counter value (umwait,
// wfet), a relative 32-bit count (mwaitx). All conversions are here, so that a relative count is
// never taken for an absolute one, nor ticks for nanoseconds.
//
// Invariants: every conversion saturates, and none gives a bound longer than asked.
// Threads: pure. Units: in the names; `tsc` is any such counter's value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "lib/core/time.hpp"

namespace gar {

// So many ticks in so many nanoseconds. {0, 1}: no counter.
struct tick_rate {
  uint64_t ticks = 0;
  uint64_t ns = 1;

  constexpr explicit operator bool() const { return ticks != 0 && ns != 0; }
};

// Linux lets one umwait last so long unless the operator changed it.
inline constexpr uint64_t umwait_ticks_max = 100'000;

// `max_time` is what the kernel's file says, in ticks, where 0 lifts the limit; nothing where there
// is no such file.
constexpr uint64_t umwait_limit_ticks(std::optional<uint64_t> max_time) {
  if (!max_time) return umwait_ticks_max;
  return *max_time == 0 ? std::numeric_limits<uint64_t>::max() : *max_time;
}

// Rounded down: a wait may end early, never late.
constexpr uint64_t ticks_in(duration d, tick_rate rate) {
  __extension__ using wide = unsigned __int128;
  const wide ticks = wide{d.ns} * rate.ticks / rate.ns;
  constexpr uint64_t most = std::numeric_limits<uint64_t>::max();
  return ticks > most ? most : static_cast<uint64_t>(ticks);
}

// The absolute counter value at which a wait that starts now ends.
constexpr uint64_t deadline_tsc(uint64_t now_tsc, uint64_t ticks) {
  constexpr uint64_t most = std::numeric_limits<uint64_t>::max();
  return ticks > most - now_tsc ? most : now_tsc + ticks;
}

// The relative count of mwaitx. 0 would mean "no bound" to some and "at once" to others.
constexpr uint32_t relative_ticks32(uint64_t ticks) {
  constexpr uint64_t most = std::numeric_limits<uint32_t>::max();
  return static_cast<uint32_t>(std::clamp<uint64_t>(ticks, 1, most));
}

}  // namespace gar
