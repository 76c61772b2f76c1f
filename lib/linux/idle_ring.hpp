// idle_port of the io-uring executor: parks on the doorbell like idle_doorbell, sleeps in its
// deadline_ring; a software park also looks at the ring's completion queue.
//
// Its sleep ends by a reactor_waker that was given the ring's eventfd. Everything else it promises
// is in bell_idle.hpp.
#pragma once

#include "lib/linux/bell_idle.hpp"
#include "lib/linux/deadline_ring.hpp"

namespace gar {

class ring_sleeper {
 public:
  explicit ring_sleeper(deadline_ring ring) : ring_(std::move(ring)) {}
  void sleep(instant until) { ring_.sleep(until); }
  bool has_news() const { return ring_.has_completions(); }
  void take_news() { ring_.take_completions(); }
  int event_fd() const { return ring_.event_fd(); }

 private:
  deadline_ring ring_;
};

template <std::predicate Requests>
class idle_ring : public bell_idle<Requests, ring_sleeper> {
 public:
  idle_ring(const doorbell& bell, state_page_owner& state, word_waiter waiter, Requests requests,
            deadline_ring ring)
      : bell_idle<Requests, ring_sleeper>(bell, state, waiter, std::move(requests),
                                          ring_sleeper(std::move(ring))) {}

  // For its reactor_waker.
  int event_fd() { return this->sleeper().event_fd(); }
};

static_assert(idle_port<idle_ring<always_false>>);

}  // namespace gar
