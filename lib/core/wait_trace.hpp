// Wait trace: each wait that ended while somebody looked, with the times of its steps.
//
// Counters cannot tell where one wait spent its time. While a trace is on, the executor notes for
// each wait when it came, when its word was seen, and when its client was told; everything else is
// in the wait's own report.
//
//     client's start   registered        sleep ends      seen              notified
//     |--- on its way ---|--- slept -------|--- parked ----|--- completions --|
//
// One thread writes, another reads:
//
//     registered -> places_ (by entry)      ended -> at tail_ ... notified -> told_ -- take -->
//     gone
//
// Invariants: memory is had when the trace is made and is never more; a wait that finds no room is
// left out and counted. What `take` gives was notified. A wait whose place another took meanwhile,
// or that came before the trace, has no time of registration.
// Threads: registered, ended and notified by the executor's (the pool's under its lock); take by
// one other. Blocking: never. Allocation: none after it was made. Memory order: `notified` releases
// what `take` acquires; `take` releases the places it has read.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "lib/core/delegated.hpp"

namespace gar {

struct traced_wait {
  uint64_t id = 0;  // of this trace, from 1
  session_id session = 0;
  instant start;       // at the client
  instant registered;  // 0: not known
  instant seen;        // the look that found the word; of a failure, as notified
  instant notified;    // its completion can be read, and its client was woken
  duration slept;
  uint32_t stream = 0;
  uint32_t parks = 0;
  uint32_t backstop_queries = 0;
  uint16_t code = 0;  // 0: done; else an error's number
  wait_kind kind = wait_kind::immediate;
  bool confirmed = false;  // the authority had said done; else its owner asks it now
};

class wait_trace {
 public:
  static constexpr size_t waits_max = 1 << 15;   // that wait to be taken
  static constexpr size_t places_max = 1 << 15;  // of waits that have not ended

  wait_trace() : places_(places_max), ended_(waits_max) {}
  wait_trace(const wait_trace&) = delete;
  wait_trace& operator=(const wait_trace&) = delete;

  // ---- The executor's.
  // `which` names the wait until it has ended.
  void registered(const void* which, instant now) { place_of(which) = {which, now}; }
  void ended(const void* which, const traced_wait& how) {
    if (tail_ - head_.load(std::memory_order_acquire) == waits_max) {
      lost_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    traced_wait& w = ended_[tail_++ & (waits_max - 1)];
    w = how;
    w.id = tail_;
    const place& came = place_of(which);
    if (came.which == which) w.registered = came.at;
  }
  // All that ended since the last call have been told now.
  bool has_news() const { return tail_ != told_.load(std::memory_order_relaxed); }
  void notified(instant now) {
    uint64_t told = told_.load(std::memory_order_relaxed);
    while (told != tail_) {
      traced_wait& w = ended_[told++ & (waits_max - 1)];
      w.notified = now;
      if (w.seen == instant{}) w.seen = now;
    }
    told_.store(told, std::memory_order_release);
  }

  // ---- The reader's. Calls see(const traced_wait&) for at most so many; how many it were.
  template <class See>
  size_t take(size_t most, See&& see) {
    uint64_t head = head_.load(std::memory_order_relaxed);
    const uint64_t told = told_.load(std::memory_order_acquire);
    const size_t count = static_cast<size_t>(std::min<uint64_t>(most, told - head));
    for (size_t i = 0; i < count; ++i) see(ended_[head++ & (waits_max - 1)]);
    head_.store(head, std::memory_order_release);
    return count;
  }
  uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  struct place {
    const void* which = nullptr;
    instant at;
  };

  // An entry's address, without what all of them share.
  place& place_of(const void* which) {
    return places_[reinterpret_cast<uintptr_t>(which) / 64 & (places_max - 1)];
  }

  std::vector<place> places_;
  std::vector<traced_wait> ended_;
  uint64_t tail_ = 0;  // the executor's
  std::atomic<uint64_t> told_ = 0;
  std::atomic<uint64_t> lost_ = 0;
  alignas(64) std::atomic<uint64_t> head_ = 0;
};

}  // namespace gar
