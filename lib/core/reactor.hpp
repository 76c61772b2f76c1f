// Reactor: many waits as tasks of one thread, with one place where the thread may idle.
//
// A task is a `pending`: a few words that say whom to call. A coroutine is one kind of it (`root`),
// a delegated wait another (delegated_wait.hpp), which costs no frame. It suspends with what it
// waits for: a memory descriptor, a deadline, both, or neither (then only `wake` or `cancel`
// resumes it). One turn (see `turn` below):
//
//   1. run every task that is ready, once each, in the order they became ready; those that yielded
//      come last, after what the look woke meanwhile
//   2. prepare to idle; look: wake each task whose descriptor is complete or whose deadline passed
//   3. if any was woken, the turn ends; else idle, until the earliest deadline at most
//
//   spawned -> ready -> running -> waiting -> ready ...        running -> ended
//
// Invariants: a task is resumed only after it was woken, or once when spawned, so that polls ==
// spawned + woken once all is quiet; ready work always runs between idles; the thread never idles
// past a deadline, nor parks longer than `park_max`; every complete descriptor is woken by the look
// that sees it, and a task whose answer is there already still queues for its turn, so no stream
// starves another. Where a descriptor is complete and the deadline passed too, complete wins.
// Ownership: roots are the reactor's; any other pending is its caller's, from `start` until `ended`
// or `forget`.
// Threads: everything here belongs to the reactor's thread. Blocking: never, but in the idle port.
// Allocation: roots and tables grow to their high-water mark and stay, in `spawn` and `start`.
// Errors: those two may throw std::bad_alloc; nothing has changed then.
// Time: the tasks of one turn all see the time of the look before it; the turn alone advances it.
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "lib/core/descriptor.hpp"
#include "lib/core/error.hpp"
#include "lib/core/task.hpp"
#include "lib/core/time.hpp"
#include "lib/port/clock_port.hpp"
#include "lib/port/idle_port.hpp"
#include "lib/port/timer_port.hpp"

namespace gar {

struct run_statistics {
  uint64_t polls = 0;   // tasks resumed
  uint64_t woken = 0;   // times a task became ready again: each once, whatever woke it
  uint64_t slept = 0;   // idles with only timers pending
  uint64_t parked = 0;  // idles on a word
  uint64_t idle_ns = 0;
};

class reactor {
 public:
  // The longest single park where a wait names none: a ring that never comes costs this much.
  static constexpr duration park_longest = from_ms(10);

  template <class T = void>
  using task = basic_task<reactor, T>;

  enum class woke : uint8_t { complete, deadline, cancelled, event };

  // One task, whose address is stable until it ends. When it was woken `on_turn` is called, which
  // suspends, yields or ends it before it returns.
  struct pending {
    enum class state : uint8_t { ready, running, waiting };
    static constexpr uint32_t nowhere = UINT32_MAX;

    void (*on_turn)(reactor&, pending&) = nullptr;
    instant deadline = instant::never();
    uint32_t armed_index = nowhere;
    uint32_t heap_index = nowhere;
    uint32_t parked_before = 0;  // the reactor's park count when it suspended
    woke why = woke::event;
    state now = state::ready;
    bool cancelled : 1 = false;
    bool rested : 1 = true;        // it was spawned, or slept, since it last waited for a word
    bool takes_events : 1 = true;  // false while it sleeps: a wake is then kept for later
    bool inline_only : 1 = false;  // of run_inline: suspending it is PendedInline
    bool wake_again : 1 = false;   // woken while it could not take it
  };
  static_assert(sizeof(pending) == 32);

  // A spawned coroutine.
  struct root : pending {
    std::coroutine_handle<> outermost;
    std::coroutine_handle<> resume;
    std::exception_ptr* failure = nullptr;
  };

  // What a task suspends for. `what` may be empty. `park` is the longest single park to take for
  // it; 0 leaves it to `park_longest`.
  struct wanted {
    memory_descriptor what;
    instant deadline = instant::never();
    duration park;
    bool takes_events = true;
  };

  reactor() = default;
  reactor(const reactor&) = delete;
  reactor& operator=(const reactor&) = delete;
  ~reactor();

  frame_pool& frames() { return frames_; }

  // Takes the task over; it runs in the next turn. The root is valid until the task ends.
  root* spawn(task<> t);
  // The same for a task that is no coroutine, and is new. `on_turn` ends it by `ended`.
  void start(pending& who);
  // Resumes a task that waits, with why == event. While the task runs, is ready or sleeps the wake
  // is remembered, once, and ends its next wait.
  void wake(pending& who);
  // Resumes a task that waits or sleeps, with why == cancelled; its later suspensions end the same
  // way, each in its turn.
  void cancel(pending& who);
  // Ends a task that is not running, where it stands. Not for a coroutine: its frame would stay.
  void forget(pending& who);
  void forget(root& who) = delete;
  // The same for a coroutine, whose frame is destroyed.
  void forget_root(root& who);

  // ---- For the `on_turn` of a task that is no coroutine, as its last word.
  void suspend(pending& who, const wanted& w);
  // Lets every other ready task have its turn first, and what completed meanwhile too.
  void yield(pending& who) { make_ready(who, woke::event, yielded_); }
  void ended(pending& who);
  // Since it suspended.
  uint32_t parks_of(const pending& who) const {
    return static_cast<uint32_t>(statistics_.parked) - who.parked_before;
  }

  instant now() const { return now_; }
  size_t tasks() const { return tasks_; }
  size_t armed() const { return armed_.size(); }
  size_t timers() const { return heap_.size(); }
  bool has_ready() const { return !ready_.empty() || !yielded_.empty(); }
  instant earliest() const { return heap_.empty() ? instant::never() : heap_.front()->deadline; }
  // The longest single park that every task allows that the last look left armed.
  duration park_max() const { return park_max_; }
  bool any_complete() const;
  // Since the last call: a word was complete, or a task came to wait for one, just spawned or back
  // from a sleep. What is armed may then be expected soon; a park that only ended at its bound is
  // no reason to.
  bool take_expecting() { return std::exchange(expecting_, false); }
  const run_statistics& statistics() const { return statistics_; }
  run_statistics& statistics() { return statistics_; }

  // Steps of a turn.
  void advance(instant to) { now_ = to > now_ ? to : now_; }
  void run_ready();
  size_t look();
  // The oldest exception that left a spawned task and was not taken yet; null when there is none.
  std::exception_ptr take_failure();

  // Awaitable: suspends until `what` is complete, `deadline` has come, or somebody wakes the task.
  struct suspension {
    reactor& owner;
    wanted by;
    root* who = nullptr;

    bool await_ready() const { return false; }
    template <class P>
    bool await_suspend(std::coroutine_handle<P> at) {
      who = at.promise().root;
      return owner.suspend_root(*who, at, by);
    }
    woke await_resume() const { return who->why; }
  };
  suspension wait(memory_descriptor what, instant deadline = instant::never(), duration park = {}) {
    return {*this, {what, deadline, park}};
  }
  // Until `at` or cancel(), whatever wakes come meanwhile.
  suspension sleep_until(instant at) { return {*this, {{}, at, {}, false}}; }
  // Until wake() or cancel().
  suspension wait_event(instant deadline = instant::never()) { return {*this, {{}, deadline, {}}}; }

  // Awaitable: as `yield`.
  struct yielding {
    reactor& owner;
    bool await_ready() const { return false; }
    template <class P>
    bool await_suspend(std::coroutine_handle<P> at) {
      return owner.yield_from(*at.promise().root, at);
    }
    void await_resume() const {}
  };
  yielding yield_now() { return {*this}; }

 private:
  struct armed_word {
    const uint64_t* word;
    uint64_t target;
    duration park;
    pending* who;
  };

  static void resume(reactor& owner, pending& who);
  // false: the task goes on at once; only inline, where nobody waits for a turn.
  bool suspend_root(root& who, std::coroutine_handle<> at, const wanted& w);
  bool yield_from(root& who, std::coroutine_handle<> at);
  bool answer_inline(root& who, const wanted& w) const;
  void arm(pending& who, const wanted& w);
  void make_ready(pending& who, woke why) { make_ready(who, why, ready_); }
  void make_ready(pending& who, woke why, std::vector<pending*>& queue);
  void disarm(pending& who);
  void take_off(pending& who);
  void grow_roots();
  void grow_tables();
  void heap_push(pending& who);
  void heap_remove(pending& who);
  void heap_place(size_t index, pending* who);
  void sift_up(size_t index);
  void sift_down(size_t index);

  frame_pool frames_;  // first: frames are freed into it until the end
  std::vector<std::unique_ptr<root>> roots_;
  std::vector<root*> free_;
  size_t tasks_ = 0;
  size_t room_ = 0;  // of the tables, in tasks
  std::vector<pending*> ready_;
  std::vector<pending*> yielded_;  // ready too, after all of ready_
  std::vector<pending*> running_;
  std::vector<armed_word> armed_;
  std::vector<pending*> heap_;  // binary heap by deadline
  std::vector<std::exception_ptr> failures_;
  instant now_;
  duration park_max_;
  bool expecting_ = false;
  run_statistics statistics_;
};

enum class turned : uint8_t {
  ran,    // tasks are ready, or were woken
  idled,  // the thread slept or parked
  empty,  // nothing is registered: no task is ready, armed or timed (tasks may be left)
};

struct no_requests {
  bool operator()() const { return false; }
};

// One turn. `take_requests` is called after the idle port was prepared and before the look: it may
// spawn, wake, cancel and forget, and says whether it did. On `empty` the caller decides: a run of
// tasks is Stalled or done, a daemon blocks for requests.
template <clock_port Clock, idle_port Idle, class Requests = no_requests>
turned turn(reactor& r, Clock& clock, Idle& idle, Requests&& take_requests = {}) {
  r.run_ready();
  idle.prepare();
  const bool taken = take_requests();
  r.advance(clock.now());
  const size_t woken = r.look();
  if (taken || woken > 0 || r.has_ready()) return turned::ran;
  if (r.armed() == 0 && r.timers() == 0) return turned::empty;

  const instant from = r.now();
  if (r.armed() == 0) {
    ++r.statistics().slept;
    idle.sleep_until(r.earliest());
  } else {
    ++r.statistics().parked;
    if (r.take_expecting()) idle.expect();
    const instant until = std::min(from + r.park_max(), r.earliest());
    idle.park(until, [&r] { return r.any_complete(); });
  }
  r.advance(clock.now());
  r.statistics().idle_ns += (r.now() - from).ns;
  return turned::idled;
}

// timer_port of a task on a reactor.
class reactor_timer {
 public:
  explicit reactor_timer(reactor& owner) : owner_(&owner) {}

  struct sleep {
    reactor::suspension inner;
    bool await_ready() const { return false; }
    template <class P>
    bool await_suspend(std::coroutine_handle<P> at) {
      return inner.await_suspend(at);
    }
    result<void> await_resume() const {
      if (inner.await_resume() == reactor::woke::cancelled) return error(errc::Cancelled);
      return {};
    }
  };
  sleep sleep_until(instant at) { return {owner_->sleep_until(at)}; }

 private:
  reactor* owner_;
};

// clock_port of a task on a reactor: the turn's frozen time.
class reactor_clock {
 public:
  explicit reactor_clock(const reactor& owner) : owner_(&owner) {}
  instant now() const { return owner_->now(); }

 private:
  const reactor* owner_;
};

static_assert(timer_port<reactor_timer>);
static_assert(clock_port<reactor_clock>);

}  // namespace gar
