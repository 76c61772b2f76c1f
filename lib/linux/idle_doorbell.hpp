// idle_port of the gpu-reactor executor: parks on the doorbell, sleeps on the state page's word.
//
// Everything it promises is in bell_idle.hpp. Its sleep ends by reactor_waker (in gard) or by
// state_page_view::wake_reactor (in a client); the kernel's timer slack of the calling thread is
// what a sleep overshoots by, so the thread sets it first (timer_slack.hpp).
#pragma once

#include "lib/linux/bell_idle.hpp"

namespace gar {

class futex_sleeper {
 public:
  explicit futex_sleeper(const state_page_owner& state) : state_(&state) {}
  uint32_t asleep_as() const { return proto::reactor_asleep; }
  void sleep(instant until) const { state_->sleep(until); }
  bool has_news() const { return false; }
  void take_news() const {}

 private:
  const state_page_owner* state_;
};

template <std::predicate Requests>
class idle_doorbell : public bell_idle<Requests, futex_sleeper> {
 public:
  idle_doorbell(const doorbell& bell, state_page_owner& state, word_waiter waiter,
                Requests requests)
      : bell_idle<Requests, futex_sleeper>(bell, state, waiter, std::move(requests),
                                           futex_sleeper(state)) {}
};

static_assert(idle_port<idle_doorbell<always_false>>);

}  // namespace gar
