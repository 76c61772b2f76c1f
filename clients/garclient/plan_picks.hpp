// Plan picks: how often one wait is tried at gard before it is run here, and how long it waits in
// between.
//
// gard refuses a wait under a plan that it has replaced. The newer one is on its way to here, and
// the wait picks again.
//
//   left -> take -> (refused as stale: pause) -> take ... -> none left: run here
//
// Invariants: a plan that changes faster than it can be picked holds a wait up for `most` pauses,
// and none lasts past its deadline.
// Threads: one at a time. Blocking, clock: none; time comes in.
#pragma once

#include "lib/core/time.hpp"

namespace gar::owner {

class plan_picks {
 public:
  static constexpr int most = 4;

  bool left() const { return taken_ < most; }
  void take() { ++taken_; }
  // gard has no room: the wait is run here.
  void give_up() { taken_ = most; }

  // For a thread that newer plans wake, and for a wait that looks for them when the pause is over.
  static constexpr duration until_woken = from_ms(5);
  static constexpr duration until_looked = from_ms(2);
  // Until when to pause. One that the deadline ends is the last: what is run here then asks the
  // device once more and has timed out.
  instant pause(instant now, duration most_of_it, instant deadline) {
    if (now + most_of_it < deadline) return now + most_of_it;
    give_up();
    return deadline;
  }

 private:
  int taken_ = 0;
};

}  // namespace gar::owner
