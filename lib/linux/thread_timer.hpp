// Blocking timers: the predicted sleep of a wait that has a thread to itself.
//
// `thread_timer` sleeps to the end. `interruptible_timer` sleeps on a word of 32 bits as well:
// whoever makes it non-zero and wakes it ends the sleep, and every later one, with Cancelled.
//
// Invariants: success is never returned before `at`.
// Threads: sleep_until blocks the calling thread; interrupt_word::interrupt may be called by any.
// Ownership: the word outlives the timers on it.
// Errors: Cancelled from an interrupted timer.
#pragma once

#include <atomic>
#include <cstdint>

#include "lib/core/error.hpp"
#include "lib/port/timer_port.hpp"

namespace gar {

class thread_timer {
 public:
  result<void> sleep_until(instant at) const;
};

// Rises once and stays up.
class interrupt_word {
 public:
  void interrupt();
  bool interrupted() const { return load() != 0; }
  // Sleeps to `at` or to the interruption.
  void wait_until(instant at) const;

 private:
  uint32_t load() const {
    return std::atomic_ref<uint32_t>(const_cast<uint32_t&>(word_)).load(std::memory_order_acquire);
  }
  uint32_t word_ = 0;
};

class interruptible_timer {
 public:
  explicit interruptible_timer(const interrupt_word& word) : word_(&word) {}
  result<void> sleep_until(instant at) const;

 private:
  const interrupt_word* word_;
};

static_assert(timer_port<thread_timer>);
static_assert(timer_port<interruptible_timer>);

}  // namespace gar
