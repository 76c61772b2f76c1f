// idle_port of the io-uring executor: parks on the doorbell like idle_doorbell, sleeps in its
// deadline_ring; a software park also looks at the ring's completion queue.
//
// Its sleep ends by a reactor_waker that was given the ring's eventfd; by a client's futex wake too
// where the kernel knows how, else the state page tells clients to send `kick`. Everything else it
// promises is in bell_idle.hpp.
#pragma once

#include "lib/linux/bell_idle.hpp"
#include "lib/linux/deadline_ring.hpp"

namespace gar {

class ring_sleeper {
 public:
  ring_sleeper(deadline_ring ring, const state_page_owner& state) : ring_(std::move(ring)) {
    ring_.sleep_on(state.word(), proto::reactor_asleep);
  }
  uint32_t asleep_as() const {
    return ring_.wakes_by_futex() ? proto::reactor_asleep : proto::reactor_asleep_message;
  }
  void sleep(instant until) { ring_.sleep(until); }
  bool has_news() const { return ring_.has_completions(); }
  void take_news() { ring_.take_completions(); }
  int event_fd() const { return ring_.event_fd(); }
  deadline_ring& ring() { return ring_; }

 private:
  deadline_ring ring_;
};

template <std::predicate Requests>
class idle_ring : public bell_idle<Requests, ring_sleeper> {
 public:
  idle_ring(const doorbell& bell, state_page_owner& state, word_waiter waiter, Requests requests,
            deadline_ring ring)
      : bell_idle<Requests, ring_sleeper>(bell, state, waiter, std::move(requests),
                                          ring_sleeper(std::move(ring), state)) {}

  // For its reactor_waker.
  int event_fd() { return this->sleeper().event_fd(); }
  // For what else shares it. The end of such a request ends a park or sleep.
  deadline_ring& ring() { return this->sleeper().ring(); }
};

static_assert(idle_port<idle_ring<always_false>>);

}  // namespace gar
