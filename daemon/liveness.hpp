// Liveness: does the thread that runs the waits still turn?
//
// The io thread can answer the service manager while the reactor's thread hangs, and then nobody
// would restart gard. With waits pending a reactor's counters rise at least once per predicted
// sleep or park; standing still for longer than the longest of those means that it hangs.
//
// Invariants: without pending waits, and under `naive` (whose workers rest as long as an owner does
// not answer), it is always alive.
// Threads: one. Pure but for what it remembers: time comes in as an argument.
#pragma once

#include "lib/core/node_snapshot.hpp"
#include "lib/core/time.hpp"

namespace gar {

class liveness {
 public:
  // The longest sleep that a plan may name, and as much again as a busy machine may add.
  static constexpr duration standstill_max = from_ms(20'000);

  bool alive(const status_snapshot& now, instant at) {
    const uint64_t turns = now.reactor.polls + now.reactor.slept + now.reactor.parked;
    const bool resting = now.waits.pending == 0 || now.executor.running == "naive";
    if (resting || turns != turns_) {
      turns_ = turns;
      turned_ = at;
    }
    return at - turned_ < standstill_max;
  }

 private:
  uint64_t turns_ = 0;
  instant turned_;
};

}  // namespace gar
