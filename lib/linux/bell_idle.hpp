// What the idle ports of gard's reactor thread have in common: they park on the doorbell, and sleep
// with the state page saying so.
//
//   prepare   copy the eight words of the bell
//   park      arm, compare the copy, look at the words and at requests, wait; in software look,
//             at a pace that `expect` quickens, and between looks sleep as below
//   sleep     say asleep, full fence, look at requests, sleep, say awake
//
// A sleep does not listen to the bell: no word is waited for then, and whoever rings without end
// must not keep the thread awake.
//
// How it sleeps is the Sleeper's: a futex on the state word (idle_doorbell) or an io_uring
// (idle_ring).
//
//   sleeper.sleep(until)   returns at `until`, or when a reactor_waker woke, or early
//   sleeper.asleep_as()    how clients reach it now: reactor_asleep or reactor_asleep_message
//   sleeper.has_news()     something came that the sleeper itself has to take in; ends a park
//   sleeper.take_news()    take it in
//
// Invariants: a request that was stored before a reactor_waker's `wake` is never slept over: either
// the look after the fence sees it, or the waker sees the announcement. A ring between prepare and
// a park ends that park at once.
// Threads: the reactor's. Ownership: bell and state outlive it. Allocation: no. Errors: none.
// Memory order: see state_page.hpp.
#pragma once

#include <concepts>
#include <utility>

#include "lib/core/planted.hpp"
#include "lib/linux/bell_trust.hpp"
#include "lib/linux/doorbell.hpp"
#include "lib/linux/state_page.hpp"
#include "lib/linux/steady_clock.hpp"
#include "lib/linux/word_wait.hpp"
#include "lib/port/idle_port.hpp"

namespace gar {

// `requests()` says whether requests wait to be taken. Called by the reactor's thread; what it
// reads is atomic.
template <std::predicate Requests, class Sleeper>
class bell_idle {
 public:
  bell_idle(const doorbell& bell, state_page_owner& state, word_waiter waiter, Requests requests,
            Sleeper sleeper)
      : bell_(&bell.line()),
        state_(&state),
        waiter_(waiter),
        pace_(waiter.pace()),
        requests_(std::move(requests)),
        sleeper_(std::move(sleeper)),
        copy_(copy_bell(*bell_)) {}

  void prepare() {
    sleeper_.take_news();
    copy_ = copy_bell(*bell_);
    trust_.prepared();
  }

  void expect() { pace_.expect(clock_.now()); }

  template <class Complete>
  void park(instant until, Complete&& complete) {
    if (!trust_.trusted(clock_.now())) {
      sleep_unless([&] { return requests_() || complete(); }, until);
      return;
    }
    auto still_waiting = [&] {
      return bell_is_as(*bell_, copy_) && !requests_() && !sleeper_.has_news() && !complete();
    };
    // A request ends such a sleep: who stores it sees it announced.
    const auto nap = [&](instant at) { sleep_unless([&] { return !still_waiting(); }, at); };
    waiter_.wait(*bell_, still_waiting, until, clock_, pace_, nap);
    if (!bell_is_as(*bell_, copy_)) trust_.woken_by_bell();
  }

  void sleep_until(instant at) {
    sleep_unless([&] { return requests_(); }, at);
  }

  void block() { sleep_until(instant::never()); }

  Sleeper& sleeper() { return sleeper_; }

 private:
  template <class AlreadyWoken>
  void sleep_unless(AlreadyWoken already_woken, instant until) {
    state_->announce_sleep(sleeper_.asleep_as());
    if (planted(bug::no_recheck_after_arming) || !already_woken()) sleeper_.sleep(until);
    state_->announce_awake();
  }

  const proto::completion_line* bell_;
  state_page_owner* state_;
  word_waiter waiter_;
  look_pace pace_;
  Requests requests_;
  Sleeper sleeper_;
  bell_copy copy_;
  bell_trust trust_;
  steady_clock clock_;
};

}  // namespace gar
