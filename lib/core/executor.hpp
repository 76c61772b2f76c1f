// Executor: several waits and CPU work on one thread, with neither gard nor GPU.
//
// A program that waits for three devices and has work of its own needs no threads for that: each
// wait is a task, CPU work is a task that yields between slices, and the thread idles only when
// nothing is ready. `basic_executor` is the reactor with a clock and an idle port of the program's
// choosing; `gar::executor` (lib/linux/executor.hpp) is the one over the machine's own.
//
// Errors: Stalled{tasks left} from run and block_on when tasks are left that nothing can resume;
// PendedInline{site} from run_inline. An exception that leaves a task is thrown again by run,
// block_on or run_inline.
// Threads: one; `spawn` may be called from inside a task. Blocking: run and block_on block.
// Ownership: the executor owns spawned tasks; those left at its end are destroyed.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "lib/core/reactor.hpp"

namespace gar {

template <clock_port Clock, idle_port Idle>
class basic_executor {
 public:
  template <class T = void>
  using task = basic_task<reactor, T>;

  explicit basic_executor(Clock clock = Clock{}, Idle idle = Idle{})
      : clock_(std::move(clock)), idle_(std::move(idle)) {
    reactor_.advance(clock_.now());
  }

  frame_pool& frames() { return reactor_.frames(); }
  gar::reactor& host() { return reactor_; }
  Clock& clock() { return clock_; }
  Idle& idle() { return idle_; }
  const run_statistics& statistics() const { return reactor_.statistics(); }

  void spawn(task<> t) { reactor_.spawn(std::move(t)); }

  // Runs until no task is left; the statistics are of this run alone.
  result<run_statistics> run() {
    const run_statistics before = statistics();
    result<void> ended = run_while([] { return true; });
    if (!ended) return ended.error();
    return difference(statistics(), before);
  }

  // Runs until `t` has ended; other tasks get their turns meanwhile.
  template <class T>
  outcome_of<T> block_on(task<T> t) {
    blocked_on<T> waiting{reactor_, {}, nullptr};
    waiting.who = reactor_.spawn(store(*this, std::move(t), waiting));
    result<void> ended = run_while([&] { return !waiting.outcome; });
    if (!ended) return ended.error();
    return std::move(*waiting.outcome);
  }

  // Runs `t` on the spot; it must not suspend.
  template <class T>
  outcome_of<T> run_inline(task<T> t, const char* site) {
    reactor_.advance(clock_.now());
    gar::reactor::root here;
    here.inline_only = true;
    auto frame = t.frame();
    frame.promise().root = &here;
    frame.resume();
    if (!frame.done()) return error(errc::PendedInline, {site});
    if constexpr (std::is_void_v<T>) {
      frame.promise().take();
      return {};
    } else {
      return frame.promise().take();
    }
  }

  // Awaitables for tasks of this executor.
  auto yield_now() { return reactor_.yield_now(); }
  auto sleep_until(instant at) { return reactor_.sleep_until(at); }
  auto sleep_for(duration by) { return reactor_.sleep_until(clock_.now() + by); }
  auto wait(memory_descriptor what, instant deadline = instant::never(), duration park = {}) {
    return reactor_.wait(what, deadline, park);
  }

 private:
  // What block_on waits for. When it leaves early, by Stalled or by another task's exception, the
  // task is forgotten: it must not write here any more.
  template <class T>
  struct blocked_on {
    gar::reactor& owner;
    std::optional<outcome_of<T>> outcome;
    gar::reactor::root* who;  // null once the task has ended

    ~blocked_on() {
      if (who) owner.forget_root(*who);
    }
  };

  template <class T>
  static task<> store(basic_executor& ex, task<T> t, blocked_on<T>& into) {
    (void)ex;  // named so that the frame comes from its pool
    try {
      if constexpr (std::is_void_v<T>) {
        co_await t;
        into.outcome.emplace();
      } else {
        T value = co_await t;
        into.outcome.emplace(std::move(value));
      }
    } catch (...) {
      into.who = nullptr;
      throw;
    }
    into.who = nullptr;
  }

  template <class Wanted>
  result<void> run_while(Wanted wanted) {
    reactor_.advance(clock_.now());
    for (;;) {
      if (std::exception_ptr failure = reactor_.take_failure()) std::rethrow_exception(failure);
      if (!wanted() || reactor_.tasks() == 0) return {};
      if (turn(reactor_, clock_, idle_) == turned::empty && reactor_.tasks() > 0 && wanted()) {
        return error(errc::Stalled, {std::to_string(reactor_.tasks())});
      }
    }
  }

  static run_statistics difference(run_statistics now, const run_statistics& before) {
    now.polls -= before.polls;
    now.woken -= before.woken;
    now.slept -= before.slept;
    now.parked -= before.parked;
    now.idle_ns -= before.idle_ns;
    return now;
  }

  Clock clock_;
  Idle idle_;
  gar::reactor reactor_;
};

}  // namespace gar
