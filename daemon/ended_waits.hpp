// Ended waits: what the executor's threads have to tell the node, without waking its thread.
//
// A completion goes to its client straight from the thread that found it. The node must hear of it
// before it takes anything that the client asked afterwards, and may hear of it as late as that: so
// nobody is woken for it, and an idle io thread stays idle while waits come and go. Between a store
// and the wake of its client nothing may lock or allocate; so room is made when a wait is taken.
//
//   executor thread:  put, then show or send the completions     with the node's lock:  take
//
// Invariants: never more is put than room was reserved for. Who puts is one at a time, and so is
// who takes.
// Threads: put by the executor's (the pool's under its lock); take with the node's lock held;
// reserve where neither can run meanwhile. Blocking: no. Allocation: reserve alone; room that
// nothing was put into yet takes no memory.
// Memory order: put releases what take acquires, before any client can see its completion.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/core/delegated.hpp"

namespace gar {

class ended_waits {
 public:
  // Room for so many beside those that wait to be taken.
  void reserve(size_t waits) {
    const uint64_t head = head_.load(std::memory_order_relaxed);
    const uint64_t tail = tail_.load(std::memory_order_relaxed);
    const size_t wanted = tail - head + waits;
    if (wanted <= count_) return;
    const size_t count = std::bit_ceil(wanted);
    auto larger = std::make_unique_for_overwrite<room[]>(count);
    for (uint64_t i = head; i < tail; ++i) new (&larger[i - head]) wait_end(place(i));
    places_ = std::move(larger);
    count_ = count;
    head_.store(0, std::memory_order_relaxed);
    tail_.store(tail - head, std::memory_order_relaxed);
  }

  void put(const std::vector<wait_end>& ended) {
    uint64_t tail = tail_.load(std::memory_order_relaxed);
    GAR_ASSERT(tail - head_.load(std::memory_order_acquire) + ended.size() <= count_);
    for (const wait_end& e : ended) new (&at(tail++)) wait_end(e);
    tail_.store(tail, std::memory_order_release);
  }

  // Calls see(const wait_end&) for each. What was put before a message left, and that message's
  // answer came back, is among them: the socket orders the two, as a ring does its requests.
  template <class See>
  void take(See&& see) {
    uint64_t head = head_.load(std::memory_order_relaxed);
    const uint64_t tail = tail_.load(std::memory_order_acquire);
    while (head < tail) {
      see(place(head));
      head_.store(++head, std::memory_order_release);
    }
  }

 private:
  struct alignas(wait_end) room {
    std::byte bytes[sizeof(wait_end)];
  };
  static_assert(std::is_trivially_destructible_v<wait_end>);

  room& at(uint64_t number) { return places_[number & (count_ - 1)]; }
  const wait_end& place(uint64_t number) {
    return *std::launder(reinterpret_cast<const wait_end*>(&at(number)));
  }

  std::unique_ptr<room[]> places_;
  size_t count_ = 0;  // a power of two, once there are any
  alignas(64) std::atomic<uint64_t> head_ = 0;
  alignas(64) std::atomic<uint64_t> tail_ = 0;
};

}  // namespace gar
