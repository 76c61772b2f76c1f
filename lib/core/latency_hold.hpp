// Latency hold: when the machine's CPUs are kept from deep sleep, for waits that are due.
//
// A CPU that sleeps deeply takes tens of microseconds to wake, just when a completion comes. It can
// be kept from it for as long as waits are due; that costs power, so it ends when none was due for
// a while, and a change costs every CPU a wake, so there are never many.
//
//     released --a wait is due--> held --none was due for 100 ms--> released
//
// Invariants: at most ten changes in any second. A release is put off rather than a hold: it needs
// room for the hold that may follow it, so that a due wait is always answered at once.
// Pure: instants in, changes out. Threads: values. Allocation: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lib/core/time.hpp"

namespace gar {

class latency_hold {
 public:
  static constexpr duration kept = from_ms(100);
  static constexpr size_t changes_max = 10;
  static constexpr duration changes_in = from_ms(1000);

  enum class change : uint8_t { none, hold, release };

  // A wait is due at `now`, or the last one was at that time.
  void due(instant at) {
    if (at > last_due_) last_due_ = at;
    any_due_ = true;
  }

  // What is to be done at `now`; the caller does it.
  change step(instant now) {
    const bool wanted = any_due_ && now < last_due_ + kept;
    if (wanted == held_) return change::none;
    if (!wanted && now < release_at()) return change::none;
    held_ = wanted;
    changed_at_[changes_++ % changes_max] = now;
    return wanted ? change::hold : change::release;
  }

  bool held() const { return held_; }
  uint64_t changes() const { return changes_; }
  // When `step` is to be called again at the latest, though nothing is due meanwhile.
  instant next() const { return held_ ? release_at() : instant::never(); }

 private:
  // So late that this change and another fit.
  instant release_at() const {
    const instant idle = last_due_ + kept;
    if (changes_ + 2 <= changes_max) return idle;
    const instant room = changed_at_[(changes_ + 1) % changes_max] + changes_in;
    return room > idle ? room : idle;
  }

  instant last_due_;
  bool any_due_ = false;
  bool held_ = false;
  uint64_t changes_ = 0;
  std::array<instant, changes_max> changed_at_{};  // the last ones, by number
};

}  // namespace gar
