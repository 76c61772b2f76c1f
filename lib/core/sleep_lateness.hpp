// Sleep lateness: how late predicted sleeps end here, learned from each of them.
//
// A sleep that ends behind its work costs that delay, and by the estimator's rule half the
// prediction for as many waits as its window has; one that ends early costs its margin in looking.
// Short sleeps that were tried once say little about those of 10 ms hours later: how deep the CPUs
// sleep by then, and who else runs on them, is another matter. So no margin is less than a floor
// which all but one in 64 sleeps stay within, without a record of them: a later one lifts it by 63
// steps, each other sinks it by one.
//
// It begins with what this host was measured to overshoot by, which on a busy host was a bad
// moment, and sinks below that too. Above `most` it would only keep waits from sleeping; where it
// already does, each of them sinks it, since none of them can teach.
//
// Threads: any; of two at once one step may be lost. Blocking, allocation: never.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "lib/core/estimator.hpp"
#include "lib/core/time.hpp"

namespace gar {

class sleep_lateness {
 public:
  static constexpr duration most = from_ms(1);
  static constexpr duration step = from_us(1);
  static constexpr uint64_t steps_up = 63;

  explicit sleep_lateness(duration measured = {}) : floor_ns_(std::min(measured, most).ns) {}

  duration floor() const { return {floor_ns_.load(std::memory_order_relaxed)}; }

  // One sleep ended so long after it should have.
  void saw(duration late) {
    const uint64_t now_ns = floor().ns;
    if (late.ns > now_ns) {
      set(std::min(now_ns + steps_up * step.ns, most.ns));
    } else {
      set(now_ns - std::min(now_ns, step.ns));
    }
  }

  // How long a wait of this history sleeps: its margin is no less than the floor. Teaches too: one
  // that the floor alone keeps awake sinks it.
  duration sleep_for(const estimator& of, const prediction& by) {
    const duration sleep = of.sleep_for(with_margin_floor(by, floor()));
    if (!sleep && floor() > by.margin && of.sleep_for(by)) saw({});
    return sleep;
  }

 private:
  void set(uint64_t floor_ns) { floor_ns_.store(floor_ns, std::memory_order_relaxed); }

  std::atomic<uint64_t> floor_ns_;
};

}  // namespace gar
