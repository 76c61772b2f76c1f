// How far a reactor believes its doorbell.
//
// The doorbell is one page for everybody on the machine, so anybody can ring it without end. Each
// ring costs the reactor one look; a run of rings after which the look found nothing means that the
// bell is forged, or rung for waits that gard does not have. Then the reactor looks by timer for a
// while: its CPU stays bounded, and others wait one park longer at most.
//
//   trusted --(fruitless_max wakes in a row, each followed by a look that found nothing)--> timed
//   timed   --(distrust_for later)--> trusted
//
// A look that found something makes the reactor run a turn and prepare again before it parks; so
// exactly one preparation between a wake by the bell and the next park is a fruitless wake.
//
// Threads: the reactor's. Pure: time is handed in.
#pragma once

#include <cstdint>

#include "lib/core/time.hpp"

namespace gar {

class bell_trust {
 public:
  static constexpr uint32_t fruitless_max = 64;
  static constexpr duration distrust_for = from_ms(10);

  void prepared() { ++prepared_; }

  void woken_by_bell() {
    woken_by_bell_ = true;
    prepared_ = 0;
  }

  // A park begins: true, it may listen to the bell.
  bool trusted(instant now) {
    const bool fruitless = woken_by_bell_ && prepared_ == 1;
    woken_by_bell_ = false;
    fruitless_ = fruitless ? fruitless_ + 1 : 0;
    if (fruitless_ >= fruitless_max) {
      fruitless_ = 0;
      distrusted_until_ = now + distrust_for;
    }
    return now >= distrusted_until_;
  }

 private:
  bool woken_by_bell_ = false;
  uint32_t prepared_ = 0;
  uint32_t fruitless_ = 0;
  instant distrusted_until_;
};

}  // namespace gar
