// Outcome box: what a client still has to tell gard about waits that ended without it.
//
// gard's counters and estimates cover every wait, so the owner reports those that it ran itself;
// one message each would cost more than the wait. They are gathered, and sent several at once, at
// most 100 ms after the first of them.
//
//     empty -> add (due = now + delay) -> add ... -> oldest, forget ... -> empty
//                                                   `-> postpone (due = now + delay)
//
// Invariants: at most `entries_max` are kept; what comes on top is dropped and counted. `due()` is
// never() while empty, so that an idle client has nothing to wake up for.
// Threads: one at a time. Blocking: none. Allocation: in `add`, up to its high-water mark.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/core/time.hpp"
#include "proto/wire.hpp"

namespace gar {

class outcome_box {
 public:
  static constexpr size_t entries_max = 4096;
  // Half of what is allowed: the other half is for the thread that sends to get its turn.
  static constexpr duration delay{proto::outcome_delay_ns_max / 2};

  void add(const proto::outcome_entry& entry, instant now) {
    if (entries_.size() == entries_max) {
      ++dropped_;
      return;
    }
    if (entries_.empty()) due_ = now + delay;
    entries_.push_back(entry);
  }

  // Touches what `add` will, and changes nothing.
  void rehearse(const proto::outcome_entry& entry, instant now) {
    if (entries_.size() == entries_max) return;
    const instant due = due_;
    add(entry, now);
    entries_.pop_back();
    due_ = due;
  }

  // When they must be sent.
  instant due() const { return entries_.empty() ? instant::never() : due_; }
  size_t size() const { return entries_.size(); }
  uint64_t dropped() const { return dropped_; }

  // The oldest, at most `count_max`, for one message; until the next call of another.
  std::span<const proto::outcome_entry> oldest(size_t count_max) const {
    return std::span(entries_).first(std::min(count_max, entries_.size()));
  }
  // So many of the oldest were sent.
  void forget(size_t count) {
    entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(count));
  }
  // They could not be sent now: another try is due later.
  void postpone(instant now) { due_ = now + delay; }

 private:
  std::vector<proto::outcome_entry> entries_;
  instant due_ = instant::never();
  uint64_t dropped_ = 0;
};

}  // namespace gar
