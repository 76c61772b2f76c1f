// CPU share: how much of one thread's time one user's requests may take.
//
// Work that many ask for on one thread must not go to whoever asks most. Each user pays for what
// its requests took; one that has spent its share rests, while others' requests go on.
//
//   may run --spend--> may run, until `burst` more was spent than came back --> rests --> may run
//
// Invariants: over any time t no user spends more than t / part + burst, and one step.
// Threads: one. Pure: time is handed in. Units: ns.
#pragma once

#include <algorithm>

#include "lib/core/time.hpp"

namespace gar {

class cpu_share {
 public:
  static constexpr uint64_t part = 4;  // one of so many parts of the time is a user's
  static constexpr duration burst = from_ms(200);

  void spend(instant now, duration used) {
    paid_at_ = std::max(paid_at_, now) + duration{used.ns * part};
  }
  // When the next step may run; in the past: now.
  instant runs_at() const { return paid_at_ - duration{burst.ns * part}; }
  // Nothing is owed: as one that never ran.
  bool at_rest(instant now) const { return paid_at_ <= now; }

 private:
  instant paid_at_;  // when all that was spent has come back
};

}  // namespace gar
