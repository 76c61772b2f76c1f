#include "lib/linux/host_timing.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "lib/linux/cpu_latency.hpp"
#include "lib/linux/futex.hpp"
#include "lib/linux/steady_clock.hpp"
#include "lib/linux/thread_timer.hpp"
#include "lib/linux/timer_slack.hpp"

namespace gar {
namespace {

constexpr duration sleep_asked = from_ms(1);
constexpr size_t sleeps = 9;
constexpr size_t turns = 4;  // of CPUs as they are and held awake: the host's load falls on both
constexpr size_t sleeps_a_turn = 3;
constexpr size_t wakes_a_turn = 6;
constexpr size_t works = 9;

// Of each of the measurements but the turns, which may take four of it.
constexpr duration part_budget = from_ms(150);
static_assert(part_budget.ns * 9 <= host_timing_budget.ns);

duration median_of(std::vector<duration> seen) {
  if (seen.empty()) return {};
  const auto middle = seen.begin() + static_cast<std::ptrdiff_t>(seen.size() / 2);
  std::nth_element(seen.begin(), middle, seen.end());
  return *middle;
}

// How late it ended.
duration sleep_for(duration asked) {
  const steady_clock clock;
  const instant until = clock.now() + asked;
  const result<void> slept = thread_timer().sleep_until(until);
  GAR_ASSERT(slept.has_value());  // it can only fail for arguments that it never has
  return clock.now() - until;
}

// Up to `count` tries, fewer where the budget ends; one at least.
template <class Try>
duration median_of_tries(size_t count, Try&& attempt) {
  const steady_clock clock;
  const instant give_up = clock.now() + part_budget;
  std::vector<duration> seen;
  while (seen.size() < count && (seen.empty() || clock.now() < give_up)) {
    seen.push_back(attempt());
  }
  return median_of(std::move(seen));
}

// A thread that sleeps on a word, and notes when it ran after each wake.
class sleeper {
 public:
  sleeper() : thread_([this] { run(); }) {}
  ~sleeper() {
    stop_.store(true, std::memory_order_relaxed);
    next();
    thread_.join();
  }

  // From the store to the thread running, once it has slept for a while.
  duration wake() {
    sleep_for(sleep_asked);
    const instant before = steady_clock().now();
    const uint32_t asked = next();
    while (std::atomic_ref(answered_).load(std::memory_order_acquire) != asked) {
      futex_wait(answered_, asked - 1, steady_clock().now() + sleep_asked);
    }
    return ran_at_ - before;
  }

 private:
  uint32_t next() {
    const uint32_t asked = std::atomic_ref(asked_).fetch_add(1, std::memory_order_release) + 1;
    futex_wake(asked_);
    return asked;
  }

  void run() {
    for (uint32_t seen = 0; !stop_.load(std::memory_order_relaxed);) {
      const uint32_t asked = std::atomic_ref(asked_).load(std::memory_order_acquire);
      if (asked == seen) {
        futex_wait(asked_, seen);
        continue;
      }
      ran_at_ = steady_clock().now();
      seen = asked;
      std::atomic_ref(answered_).store(seen, std::memory_order_release);
      futex_wake(answered_);
    }
  }

  uint32_t asked_ = 0;
  uint32_t answered_ = 0;
  instant ran_at_;  // written before `answered_`
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

struct latenesses {
  std::vector<duration> sleep;
  std::vector<duration> wake;

  void add_turn(sleeper& other) {
    for (size_t i = 0; i < sleeps_a_turn; ++i) sleep.push_back(sleep_for(sleep_asked));
    for (size_t i = 0; i < wakes_a_turn; ++i) wake.push_back(other.wake());
  }
};

// Some tens of microseconds: each step needs the one before it.
duration time_of_work() {
  constexpr int steps = 20'000;
  static volatile uint64_t sink = 1;
  const instant before = steady_clock().now();
  uint64_t x = sink;
  for (int i = 0; i < steps; ++i) x = x * 6'364'136'223'846'793'005u + 1'442'695'040'888'963'407u;
  sink = x;
  return steady_clock().now() - before;
}

duration time_of_warm_work() {
  const instant warm = steady_clock().now() + from_ms(20);
  while (steady_clock().now() < warm) time_of_work();
  return median_of_tries(works, time_of_work);
}

duration time_of_work_after_sleep() {
  return median_of_tries(works, [] {
    sleep_for(from_ms(10));
    return time_of_work();
  });
}

duration time_of_clock_reading() {
  constexpr uint64_t readings = 1000;
  const steady_clock clock;
  return median_of_tries(5, [&] {
    const instant before = clock.now();
    instant last = before;
    for (uint64_t i = 0; i < readings; ++i) last = clock.now();
    return (last - before) / readings;
  });
}

void measure_in_turns(host_timing& into) {
  const least_timer_slack exact;
  sleeper other;
  latenesses as_is, held;
  result<cpu_latency> device = cpu_latency::open();
  if (!device) into.why_not_held = device.error().text();
  const instant give_up = steady_clock().now() + duration{4 * part_budget.ns};
  for (size_t i = 0; i < turns && (i == 0 || steady_clock().now() < give_up); ++i) {
    as_is.add_turn(other);
    if (!into.why_not_held.empty()) continue;
    result<void> changed = device->hold();
    if (changed) {
      held.add_turn(other);
      changed = device->release();
    }
    if (!changed) into.why_not_held = changed.error().text();
  }
  into.sleep_late_exact = median_of(as_is.sleep);
  into.wake = median_of(as_is.wake);
  if (!into.why_not_held.empty()) return;
  into.sleep_late_held = median_of(held.sleep);
  into.wake_held = median_of(held.wake);
}

}  // namespace

host_timing measure_host_timing() {
  host_timing seen;
  if (const result<uint64_t> slack_ns = timer_slack_ns()) seen.slack_ns = *slack_ns;
  seen.sleep_late = median_of_tries(sleeps, [] { return sleep_for(sleep_asked); });
  measure_in_turns(seen);
  seen.work_after_sleep = time_of_work_after_sleep();
  seen.work_warm = time_of_warm_work();
  seen.clock_reading = time_of_clock_reading();
  return seen;
}

}  // namespace gar
