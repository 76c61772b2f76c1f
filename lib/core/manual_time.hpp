// Manual time: the clock and the timer of tests and of the simulator.
//
// Virtual time is not a test trick but the other implementation of the ports: it moves only when
// somebody says so, and every wait, turn and policy of the core replays under it.
//
// Threads: one. Blocking: never.
#pragma once

#include "lib/core/error.hpp"
#include "lib/port/clock_port.hpp"
#include "lib/port/timer_port.hpp"

namespace gar {

class manual_clock {
 public:
  explicit manual_clock(instant start = {}) : now_(start) {}
  instant now() const { return now_; }
  void advance(duration by) { now_ = now_ + by; }
  void advance_to(instant at) { now_ = at > now_ ? at : now_; }

 private:
  instant now_;
};

// Sleeps by moving the clock; an overshoot is added to each sleep.
class manual_timer {
 public:
  explicit manual_timer(manual_clock& clock, duration overshoot = {})
      : clock_(&clock), overshoot_(overshoot) {}
  result<void> sleep_until(instant at) {
    clock_->advance_to(at + overshoot_);
    ++sleeps_;
    return {};
  }
  uint64_t sleeps() const { return sleeps_; }

 private:
  manual_clock* clock_;
  duration overshoot_;
  uint64_t sleeps_ = 0;
};

static_assert(clock_port<manual_clock>);
static_assert(timer_port<manual_timer>);

}  // namespace gar
