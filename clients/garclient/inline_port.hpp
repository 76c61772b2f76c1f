// Inline port: the five verbs of a wait that has its thread to itself.
//
// Every verb blocks the calling thread instead of suspending. The authority is the stream's; the
// park watches the stream's own word, in hardware where the CPU can. The first park is where the
// wait began or its predicted sleep ended: the software wait's spin starts there, once in a wait,
// or a margin later, when the word is expected. While it looks there is time for what is better
// done before the word arrives.
//
// Threads: the waiting thread's alone. Blocking: block, poll and park, at most to the deadline.
// Errors: those of the authority.
#pragma once

#include <functional>

#include "clients/garclient/stream.hpp"
#include "lib/core/plan.hpp"
#include "lib/core/sleep_lateness.hpp"
#include "lib/core/time.hpp"
#include "lib/linux/steady_clock.hpp"
#include "lib/linux/thread_timer.hpp"
#include "lib/linux/timer_slack.hpp"
#include "lib/linux/word_wait.hpp"
#include "lib/port/completion_port.hpp"
#include "lib/port/timer_port.hpp"

namespace gar::owner {

class inline_port {
 public:
  struct looking {
    duration expected_after;            // the first park
    std::function<void()> before_park;  // and before a poll; may be empty
  };
  inline_port(stream& of, const binding& where, const plan& how, uint64_t sequence,
              instant deadline, looking way);

  result<bool> query(uint64_t sequence) { return of_->query(sequence); }
  result<bool> block(uint64_t sequence);
  result<bool> poll(uint64_t sequence);
  // The number was recorded before.
  result<void> arm() { return {}; }
  result<park_answer> park(park_bound bound);

 private:
  duration left() const;
  result<bool> block_on_word(uint64_t sequence);
  result<bool> query_with_pauses(uint64_t sequence, duration most);
  result<bool> query_without_pause(uint64_t sequence);

  stream* of_;
  const binding* where_;
  plan how_;
  uint64_t sequence_;  // what `park` waits for
  instant deadline_;
  look_pace pace_;
  bool parked_ = false;
  looking way_;
};

static_assert(completion_port<inline_port>);

// A thread's sleep with the least slack, which is the thread's own again afterwards.
class exact_timer {
 public:
  result<void> sleep_until(instant at) const {
    const least_timer_slack exact;
    return thread_timer().sleep_until(at);
  }
};

// The same for a predicted sleep: how late it ended is learned.
class learned_timer {
 public:
  explicit learned_timer(sleep_lateness& sleeps) : sleeps_(&sleeps) {}

  result<void> sleep_until(instant at) const {
    result<void> slept = exact_timer().sleep_until(at);
    if (slept) sleeps_->saw(steady_clock().now() - at);
    return slept;
  }

 private:
  sleep_lateness* sleeps_;
};

static_assert(timer_port<learned_timer>);

// The process's word wait, probed at the first use (a few ms, once).
const word_waiter& process_word_waiter();
// How far this process's short sleeps overshoot: no margin of a predicted sleep is less. Measured
// at the first use (5 ms, once), because gard's number is of another thread in another cgroup.
duration process_margin_floor();

}  // namespace gar::owner
