// One wait: the only place where the order of query, sleep, park and backstop is written.
//
// gard, the client library and the tests all run this driver over their own ports.
//
//   block            block                                               -> blocked
//   otherwise        query: done                                         -> immediate, exact
//     flag           arm
//     a sleep asked  sleep to start + sleep, query: done                 -> late, late sample
//     poll           poll                                                -> parked, exact
//     flag           park ... one query every backstop ... query to done -> parked, exact
//
// Invariants: the word is a wake source, never the authority: success is only what the port's
// query, block or poll said. A lost or late store costs at most one backstop. No single park is
// longer than min(park_max, left to the next backstop, left to the deadline). No sleep is longer
// than asked. A port's error ends the wait unchanged.
// Errors: those of the port; TimedOut{timeout_ns} when the deadline passed and one last query said
// pending.
// Time: read once per step through the clock port.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/core/estimator.hpp"
#include "lib/core/plan.hpp"
#include "lib/core/task.hpp"
#include "lib/port/clock_port.hpp"
#include "lib/port/completion_port.hpp"
#include "lib/port/timer_port.hpp"

namespace gar {

enum class wait_kind : uint8_t { blocked, immediate, late, parked };

constexpr std::string_view name_of(wait_kind kind) {
  switch (kind) {
    case wait_kind::blocked:
      return "blocked";
    case wait_kind::immediate:
      return "immediate";
    case wait_kind::late:
      return "late";
    case wait_kind::parked:
      return "parked";
  }
  return "";
}

struct wait_report {
  wait_kind kind = wait_kind::immediate;
  gar::sample sample;
  duration wait;   // from the start of the wait to its end
  duration slept;  // of it, in the predicted sleep
  uint32_t parks = 0;
  uint32_t backstop_queries = 0;
  uint32_t early_words = 0;  // the word arrived and the authority still said pending
};

struct wait_request {
  plan how;
  duration sleep;  // what the point's estimate asks for; 0 means none
  uint64_t sequence = 0;
  instant start;
  instant deadline = instant::never();
};

namespace detail {

inline error timed_out(const wait_request& request) {
  return error(errc::TimedOut, {std::to_string((request.deadline - request.start).ns)});
}

// Why the authority is asked; what a yes means follows from it.
enum class asked : uint8_t { first, after_sleep, at_backstop, at_deadline, word_arrived };

constexpr wait_kind kind_of(asked why) {
  if (why == asked::first) return wait_kind::immediate;
  return why == asked::after_sleep ? wait_kind::late : wait_kind::parked;
}

constexpr sample sample_of(asked why) {
  return why == asked::after_sleep ? sample::late({}) : sample::exact({});
}

}  // namespace detail

template <class Host, completion_port Port, clock_port Clock, timer_port Timer>
basic_task<Host, result<wait_report>> run_wait(Host& host, wait_request request, Port& port,
                                               Clock& clock, Timer& timer) {
  (void)host;  // named so that the frame comes from its pool
  const instant start = request.start;
  wait_report report;
  auto ended = [&](wait_kind kind, sample s) {
    report.kind = kind;
    report.wait = clock.now() - start;
    report.sample = s.what == sample::kind::none ? s : sample{s.what, report.wait};
    return report;
  };

  if (request.how.park == park_kind::block) {
    result<bool> done = co_await port.block(request.sequence);
    if (!done) co_return done.error();
    if (!*done) co_return detail::timed_out(request);
    co_return ended(wait_kind::blocked, sample::none());
  }

  // One place asks the authority, whatever for: a frame has room of its own for each co_await, and
  // frames are most of what a pending wait costs.
  detail::asked why = detail::asked::first;
  for (;;) {
    result<bool> done = co_await port.query(request.sequence);
    if (!done) co_return done.error();
    if (*done) co_return ended(detail::kind_of(why), detail::sample_of(why));
    if (why == detail::asked::at_deadline) co_return detail::timed_out(request);
    if (why == detail::asked::word_arrived) {
      ++report.early_words;
      break;
    }

    if (why == detail::asked::first) {
      if (request.how.park == park_kind::flag) {
        result<void> armed = co_await port.arm();
        if (!armed) co_return armed.error();
      }
      if (request.sleep) {
        const instant before_sleep = clock.now();
        const instant wake_at = std::min(start + request.sleep, request.deadline);
        result<void> slept = co_await timer.sleep_until(wake_at);
        if (!slept) co_return slept.error();
        report.slept = clock.now() - before_sleep;
        why = detail::asked::after_sleep;
        continue;
      }
    }
    if (request.how.park != park_kind::flag) break;

    const instant next_backstop = clock.now() + request.how.backstop;
    for (;;) {
      const instant now = clock.now();
      if (now >= request.deadline) {
        why = detail::asked::at_deadline;
        break;
      }
      if (now >= next_backstop) {
        ++report.backstop_queries;
        why = detail::asked::at_backstop;
        break;
      }
      const duration left = std::min(next_backstop, request.deadline) - now;
      const park_bound bound{std::min(request.how.park_max, left), left};
      result<park_answer> answer = co_await port.park(bound);
      if (!answer) co_return answer.error();
      report.parks += answer->parks;
      if (answer->arrived) {
        why = detail::asked::word_arrived;
        break;
      }
    }
  }

  result<bool> done = co_await port.poll(request.sequence);
  if (!done) co_return done.error();
  if (!*done) co_return detail::timed_out(request);
  co_return ended(wait_kind::parked, sample::exact({}));
}

}  // namespace gar
