// Task timer: the predicted sleep of a task of the service thread, from which is learned how late
// such sleeps end.
//
// The thread sleeps for all its tasks at once, and wakes for other things too: how late it comes to
// a task whose sleep is over is another matter than how late it wakes, and a margin must cover it.
// What tasks before this one take in the same turn is not in it: time stands still in a turn.
//
// Threads: the service thread. Blocking: none. Ownership: reactor and lateness outlive it.
// Errors: Cancelled; such a sleep teaches nothing.
#pragma once

#include <coroutine>

#include "lib/core/reactor.hpp"
#include "lib/core/sleep_lateness.hpp"
#include "lib/port/timer_port.hpp"

namespace gar::owner {

class task_timer {
 public:
  task_timer(reactor& host, sleep_lateness& sleeps) : host_(&host), sleeps_(&sleeps) {}

  struct sleep {
    reactor_timer::sleep inner;
    const task_timer* by;
    instant until;

    bool await_ready() const { return inner.await_ready(); }
    template <class P>
    bool await_suspend(std::coroutine_handle<P> at) {
      return inner.await_suspend(at);
    }
    result<void> await_resume() const {
      result<void> slept = inner.await_resume();
      if (slept) by->sleeps_->saw(by->host_->now() - until);
      return slept;
    }
  };
  sleep sleep_until(instant at) { return {reactor_timer(*host_).sleep_until(at), this, at}; }

 private:
  reactor* host_;
  sleep_lateness* sleeps_;
};

static_assert(timer_port<task_timer>);

}  // namespace gar::owner
