// Sleep overshoot: how late this host ends a thread's short sleeps.
//
// A wait sleeps to a margin before the predicted completion. Where a host's sleeps end later than
// the plan's margin allows, each predicted sleep would be a late wait; so a few sleeps are tried,
// and their overshoot is a floor under the margin.
//
// Threads: any; the calling thread sleeps. Blocking: a few milliseconds, `overshoot_budget` and one
// overshoot at most. Errors: none.
#pragma once

#include <span>

#include "lib/core/sleep_lateness.hpp"

namespace gar {

inline constexpr duration overshoot_budget = from_ms(15);

// A median so many times the least, or longer than this, is of a host that was busy when it was
// tried, which says nothing about later; a larger floor would keep waits from sleeping at all.
inline constexpr uint64_t overshoot_spread_most = 4;
inline constexpr duration overshoot_most = sleep_lateness::most;

// The median of a few sleeps of 1 ms with the least timer slack, no more than those two allow.
duration measure_sleep_overshoot();

// The verdict on what was seen. Reorders.
duration judge_overshoots(std::span<duration> seen);

}  // namespace gar
