// Reactor waker: how another thread of gard tells the reactor that a request waits.
//
// The request is stored first, wherever the reactor's `requests()` looks. Then `wake`:
//
//   1. ring the doorbell: ends a park on hardware monitors, costs no system call
//   2. full fence, read the state: awake means that the reactor will look by itself
//   3. asleep: make it awake; who of many did so wakes the sleeper, by one system call
//
// Invariants: a request stored before `wake` is seen without waiting for anything else. While the
// reactor is awake a wake makes no system call; however many wakers meet one sleep, one does.
// Threads: any. Blocking: no. Ownership: bell, state and eventfd outlive it. Errors: none.
#pragma once

#include <sys/eventfd.h>

#include <atomic>
#include <cstdint>

#include "lib/linux/doorbell.hpp"
#include "lib/linux/state_page.hpp"

namespace gar {

class reactor_waker {
 public:
  // Of an idle_doorbell.
  reactor_waker(const doorbell& bell, state_page_owner& state) : bell_(&bell), state_(&state) {}
  // Of an idle_ring.
  reactor_waker(const doorbell& bell, state_page_owner& state, int event_fd)
      : bell_(&bell), state_(&state), event_fd_(event_fd) {}

  reactor_waker(const reactor_waker&) = delete;
  reactor_waker& operator=(const reactor_waker&) = delete;

  void wake() {
    // Client 0 is nobody's: the ring names gard itself.
    bell_->ring(0, 0, rung_.fetch_add(1, std::memory_order_relaxed));
    if (!state_->requester_sees_sleep()) return;
    if (!state_->take_wake()) return;
    if (event_fd_ < 0) {
      state_->wake_sleeper();
    } else {
      // A full counter refuses the write, and is a wake already.
      (void)::eventfd_write(event_fd_, 1);
    }
  }

 private:
  const doorbell* bell_;
  state_page_owner* state_;
  int event_fd_ = -1;
  std::atomic<uint64_t> rung_ = 0;
};

}  // namespace gar
