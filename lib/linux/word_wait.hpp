// Word wait: park a thread until a word in memory changes, by the best means this CPU has.
//
// Spinning on a word answers in 0.1 us and burns a core; sleeping in the kernel costs 30 us to
// wake. CPUs with a user-mode monitor do better: they watch one line and doze until a store to it.
//
//   hardware   arm(line) -> still waiting? -> wait, at most to `until` -> look again ...
//   software   look, at the pace that look_pace.hpp sets: without a pause, then between short
//   sleeps
//
// Invariants: the look after arming sees every store before it, the monitor every one after it, so
// none is lost. Every wait is bounded. Every return means "look again", nothing more. A waiter that
// executes a hardware pair is made of a `park_permit`, and only the probe makes those.
// Threads: a waiter is a value; each thread may use its copy. Blocking: wait does.
// Allocation: no. Errors: none.
// Memory order: what `still_waiting` reads, it reads with acquire.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "lib/core/look_pace.hpp"
#include "lib/core/time.hpp"
#include "lib/linux/monitor_pair.hpp"
#include "lib/linux/timer_slack.hpp"
#include "lib/linux/word_wait_kind.hpp"
#include "lib/port/clock_port.hpp"
#include "proto/line.hpp"

namespace gar {

// The right to execute a pair that was seen to wait on this host.
class park_permit {
 public:
  const monitor_pair& pair() const { return *pair_; }
  tick_rate rate() const { return rate_; }

 private:
  friend class word_wait_prober;
  park_permit(const monitor_pair& pair, tick_rate rate) : pair_(&pair), rate_(rate) {}
  const monitor_pair* pair_;
  tick_rate rate_;
};

namespace detail {

void relax_cpu();
// To `at` or, interrupted, less.
void sleep_shortly(instant at);
void yield_cpu();

}  // namespace detail

// A software wait's short sleep, where nothing but a look can end it sooner.
class plain_nap {
 public:
  void operator()(instant until) {
    if (!exact_) exact_.emplace();
    detail::sleep_shortly(until);
  }

 private:
  std::optional<least_timer_slack> exact_;  // from the first sleep on
};

class word_waiter {
 public:
  word_waiter() = default;  // by looking
  explicit word_waiter(software_wait how) : software_(how) {}
  explicit word_waiter(const park_permit& permit, software_wait how = {})
      : pair_(&permit.pair()), rate_(permit.rate()), software_(how) {}

  word_wait_kind kind() const { return pair_ ? pair_->kind : word_wait_kind::software; }
  bool hardware() const { return pair_ != nullptr; }

  // The pace of a wait that begins.
  look_pace pace() const { return look_pace(software_); }

  // Returns when still_waiting() is false or `until` has come. Hardware watches `line` alone:
  // whatever still_waiting looks at beside it is seen at the next early end, or at `until`.
  // still_waiting must not store to the line. `pace` goes with the wait from park to park, and
  // `nap(until)` is how it sleeps between looks; hardware needs neither.
  template <class StillWaiting, clock_port Clock, class Nap = plain_nap>
  void wait(const proto::completion_line& line, StillWaiting&& still_waiting, instant until,
            Clock& clock, const look_pace& pace, Nap&& nap = {}) const {
    if (!pair_) return look(still_waiting, until, clock, pace, nap);
    wait_at(line.word, still_waiting, until, clock);
  }
  // The same for the one word that is waited for; its whole line is watched.
  template <class StillWaiting, clock_port Clock>
  void wait(const uint64_t& word, StillWaiting&& still_waiting, instant until, Clock& clock,
            const look_pace& pace) const {
    if (!pair_) return look(still_waiting, until, clock, pace, plain_nap());
    wait_at(&word, still_waiting, until, clock);
  }
  // A wait of one park.
  template <class StillWaiting, clock_port Clock>
  void wait(const proto::completion_line& line, StillWaiting&& still_waiting, instant until,
            Clock& clock) const {
    wait(line, still_waiting, until, clock, begun(clock));
  }
  template <class StillWaiting, clock_port Clock>
  void wait(const uint64_t& word, StillWaiting&& still_waiting, instant until, Clock& clock) const {
    wait(word, still_waiting, until, clock, begun(clock));
  }
  // Never with hardware: for what lies in no one line.
  template <class StillWaiting, clock_port Clock>
  static void wait_by_looking(StillWaiting&& still_waiting, instant until, Clock& clock,
                              const look_pace& pace) {
    look(still_waiting, until, clock, pace, plain_nap());
  }

 private:
  template <class StillWaiting, clock_port Clock>
  void wait_at(const uint64_t* line, StillWaiting& still_waiting, instant until,
               Clock& clock) const;
  template <class StillWaiting, clock_port Clock, class Nap>
  static void look(StillWaiting& still_waiting, instant until, Clock& clock, const look_pace& pace,
                   Nap&& nap);
  template <clock_port Clock>
  look_pace begun(Clock& clock) const {
    look_pace begun = pace();
    begun.expect(clock.now());
    return begun;
  }

  const monitor_pair* pair_ = nullptr;
  tick_rate rate_;
  software_wait software_;
};

struct word_wait_report {
  word_wait_kind kind = word_wait_kind::software;
  bool hardware = false;
  std::string why;  // what was seen, or why there is no hardware wait
};

struct word_wait_probe {
  word_wait_report report;
  word_waiter waiter;
};

// Asks the CPU, then tries: a pair counts only if most of a few bounded parks really lasted. Takes
// a few milliseconds; once per process. `pairs` is another list in tests only.
word_wait_probe probe_word_wait(software_wait how = {},
                                std::span<const monitor_pair* const> pairs = monitor_pairs);
// By another clock than the machine's: for tests.
word_wait_probe probe_word_wait(software_wait how, std::span<const monitor_pair* const> pairs,
                                instant (*now)());

template <class StillWaiting, clock_port Clock>
void word_waiter::wait_at(const uint64_t* line, StillWaiting& still_waiting, instant until,
                          Clock& clock) const {
  for (;;) {
    const instant now = clock.now();
    if (now >= until) return;
    pair_->arm(line);
    if (!still_waiting()) return;
    pair_->wait(until - now, rate_);
    // One wait of the hardware may be shorter than ours.
    if (!still_waiting()) return;
  }
}

template <class StillWaiting, clock_port Clock, class Nap>
void word_waiter::look(StillWaiting& still_waiting, instant until, Clock& clock,
                       const look_pace& pace, Nap&& nap) {
  constexpr int looks_per_clock_read = 16;
  for (;;) {
    if (!still_waiting()) return;
    const instant now = clock.now();
    if (now >= until) return;
    const look_pace::next_step next = pace.next(now, until);
    switch (next.what) {
      case look_pace::step::look:
        for (int i = 0; i < looks_per_clock_read; ++i) {
          detail::relax_cpu();
          if (!still_waiting()) return;
        }
        break;
      case look_pace::step::give_way:
        detail::yield_cpu();
        break;
      case look_pace::step::sleep:
        nap(next.until);
        break;
    }
  }
}

}  // namespace gar
