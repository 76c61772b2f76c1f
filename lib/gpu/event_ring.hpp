// Event ring: which event answers for which recorded number, and which events are free.
//
// Each record has an event of its own, so that an earlier number can be done while later work still
// runs. Work of a stream ends in order, so one number, `confirmed`, says which are done; an event
// is free again only when its number is confirmed and nobody is asking it just now.
//
//   add or take -> taken -> publish -> recorded -> confirm -> free -> take ...
//                                          | pin .. unpin: being asked, not free meanwhile
//
// Invariants: numbers rise (wrapping); at most records_unconfirmed_max unconfirmed. Threads: one at
// a time. Blocking: none; memory grows with the most events that were ever needed at once.
// Ownership: whoever adds events destroys them, with the ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "lib/core/descriptor.hpp"
#include "lib/core/error.hpp"
#include "proto/limits.hpp"

namespace gar {

class event_ring {
 public:
  struct slot {
    void* event;
    uint32_t askers = 0;
    bool recorded = false;
  };
  struct record {
    uint64_t sequence;
    slot* in;
  };

  bool full() const { return records_.size() == proto::records_unconfirmed_max; }
  bool ever_recorded() const { return any_; }
  uint64_t last() const { return last_; }
  // There is one where the ring is full.
  uint64_t oldest() const {
    GAR_ASSERT(!records_.empty());
    return records_.front().sequence;
  }
  bool is_confirmed(uint64_t sequence) const {
    return any_confirmed_ && reached(confirmed_, sequence);
  }

  // A free event, or null: make one and add it.
  slot* take() {
    if (free_.empty()) return nullptr;
    slot* taken = free_.back();
    free_.pop_back();
    return taken;
  }
  slot* add(void* event) { return &slots_.emplace_back(slot{event}); }
  // Taken, but not recorded after all.
  void give_back(slot* taken) { free_.push_back(taken); }

  void publish(uint64_t sequence, slot* taken) {
    GAR_ASSERT(!full());
    taken->recorded = true;
    records_.push_back({sequence, taken});
    last_ = sequence;
    any_ = true;
  }

  // The record whose event answers for `sequence`; none where nothing recorded covers it.
  std::optional<record> pin(uint64_t sequence) {
    for (const record& r : records_) {
      if (!reached(r.sequence, sequence)) continue;
      ++r.in->askers;
      return r;
    }
    return std::nullopt;
  }
  void unpin(const record& r) {
    --r.in->askers;
    free_if_unused(r.in);
  }

  void confirm(uint64_t sequence) {
    if (is_confirmed(sequence)) return;
    confirmed_ = sequence;
    any_confirmed_ = true;
    while (!records_.empty() && reached(confirmed_, records_.front().sequence)) {
      slot* done = records_.front().in;
      records_.pop_front();
      done->recorded = false;
      free_if_unused(done);
    }
  }

  // Every event that was ever added.
  const std::deque<slot>& slots() const { return slots_; }

 private:
  void free_if_unused(slot* s) {
    if (!s->recorded && s->askers == 0) free_.push_back(s);
  }

  std::deque<slot> slots_;  // their addresses stay
  std::vector<slot*> free_;
  std::deque<record> records_;
  uint64_t last_ = 0;
  uint64_t confirmed_ = 0;
  bool any_ = false;
  bool any_confirmed_ = false;
};

}  // namespace gar
