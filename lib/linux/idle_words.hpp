// idle_port of gar::executor: a thread of its own program, with no doorbell and no gard.
//
// The words that its tasks wait for lie anywhere, so it parks by looking at all of them: a spin,
// then short sleeps. Nobody hands it requests from outside: what is not woken by a word or a
// deadline is woken by another task, and then the thread does not idle.
//
// Threads: the executor's. Blocking: park and sleep_until. Allocation: no. Errors: none.
#pragma once

#include <utility>

#include "lib/linux/steady_clock.hpp"
#include "lib/linux/thread_timer.hpp"
#include "lib/linux/timer_slack.hpp"
#include "lib/linux/word_wait.hpp"
#include "lib/port/idle_port.hpp"

namespace gar {

class idle_words {
 public:
  explicit idle_words(software_wait how = {}) : pace_(how) {}

  void prepare() {}
  void expect() { pace_.expect(clock_.now()); }

  template <class Complete>
  void park(instant until, Complete&& complete) {
    word_waiter::wait_by_looking([&] { return !complete(); }, until, clock_, pace_);
  }

  void sleep_until(instant at) {
    const least_timer_slack exact;
    // It can only fail for arguments that it never has.
    result<void> slept = thread_timer().sleep_until(at);
    GAR_ASSERT(slept.has_value());
  }

  // Nothing could end it: the executor reports Stalled instead of blocking.
  void block() {}

 private:
  look_pace pace_;
  steady_clock clock_;
};

static_assert(idle_port<idle_words>);

}  // namespace gar
