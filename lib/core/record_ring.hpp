// Record ring: the numbers that a stream's records have, and which of them are known to be done.
//
// A record is a promise to store the next number into the stream's word. Many may be in flight;
// each is complete by itself. Work of one stream ends in order, so one number, `confirmed`, says
// which are done: it and all before it.
//
//     base ............. confirmed ............. last         next()
//      |  done and forgotten  |  at most 256 unconfirmed  |
//
//     rebase(to): the stream goes on behind a later number, on another word; what was recorded
//     before stays recorded.
//
// Invariants: numbers rise; at most 256 unconfirmed; `confirmed` never goes back.
// Threads: one at a time. Blocking, allocation: none.
// All comparisons are in wrapping order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lib/core/descriptor.hpp"
#include "lib/core/error.hpp"
#include "proto/limits.hpp"

namespace gar {

class record_ring {
 public:
  // `base` is the last number ever stored on the word.
  explicit record_ring(uint64_t base) : base_(base), last_(base), confirmed_(base) {}

  // The number of the next record; it counts once it was `issued`.
  uint64_t next() const { return last_ + 1; }
  bool full() const { return count_ == ring_.size(); }
  // The oldest unconfirmed number; there is one when the ring is not empty.
  uint64_t oldest() const {
    GAR_ASSERT(count_ > 0);
    return ring_[head_];
  }
  size_t unconfirmed() const { return count_; }

  // The store of next() was enqueued.
  void issued() {
    GAR_ASSERT(!full());
    last_ = next();
    ring_[(head_ + count_++) % ring_.size()] = last_;
  }

  // The work of `sequence` was asked for and is done, and so is all before it.
  void confirm(uint64_t sequence) {
    if (reached(confirmed_, sequence) || !reached(last_, sequence)) return;
    confirmed_ = sequence;
    while (count_ > 0 && reached(confirmed_, ring_[head_])) {
      head_ = (head_ + 1) % ring_.size();
      --count_;
    }
  }

  // Further records go behind `to`, a later number than any before.
  void rebase(uint64_t to) {
    GAR_ASSERT(reached(to, last_));
    last_ = to;
    if (count_ == 0) confirmed_ = to;
  }

  uint64_t last() const { return last_; }
  uint64_t confirmed() const { return confirmed_; }
  bool is_confirmed(uint64_t sequence) const { return reached(confirmed_, sequence); }
  // Was this number ever recorded here? Numbers that a rebase jumped over were not; once they lie
  // before `confirmed` nobody can tell any more, and they count as done.
  bool is_recorded(uint64_t sequence) const {
    if (reached(base_, sequence) || !reached(last_, sequence)) return false;
    if (is_confirmed(sequence)) return true;
    for (size_t i = 0; i < count_; ++i) {
      if (ring_[(head_ + i) % ring_.size()] == sequence) return true;
    }
    return false;
  }

 private:
  uint64_t base_;
  uint64_t last_;
  uint64_t confirmed_;
  std::array<uint64_t, proto::records_unconfirmed_max> ring_{};
  size_t head_ = 0;
  size_t count_ = 0;
};

}  // namespace gar
