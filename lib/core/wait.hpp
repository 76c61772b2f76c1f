// One wait as a coroutine: what the wait machine says, done by a port, a clock and a timer.
//
// The client library and the naive executor run it; what a wait does in which order is the
// machine's (wait_machine.hpp), whose invariants are this one's.
//
// Errors: those of the port, unchanged; TimedOut{timeout} when the deadline passed and one last
// query said pending.
// Time: read once behind each verb through the clock port.
#pragma once

#include <cstdint>

#include "lib/core/quantity.hpp"
#include "lib/core/task.hpp"
#include "lib/core/wait_machine.hpp"
#include "lib/port/clock_port.hpp"
#include "lib/port/completion_port.hpp"
#include "lib/port/timer_port.hpp"

namespace gar {

struct wait_request {
  plan how;
  duration sleep;  // what the point's estimate asks for; 0 means none
  uint64_t sequence = 0;
  instant start;
  instant deadline = instant::never();

  wait_terms terms() const {
    wait_terms t{
        .start = start, .deadline = deadline, .sleep = sleep, .park_max = {}, .backstop = {}};
    t.run(how);
    return t;
  }
};

template <class Host, completion_port Port, clock_port Clock, timer_port Timer>
basic_task<Host, result<wait_report>> run_wait(Host& host, wait_terms how, uint64_t sequence,
                                               Port& port, Clock& clock, Timer& timer) {
  (void)host;  // named so that the frame comes from its pool
  wait_machine machine;
  instant now;
  // Each verb once: a frame has room of its own for each co_await.
  for (wait_step next = machine.begin(how);;) {
    switch (next.what) {
      case wait_step::verb::query: {
        result<bool> done = co_await port.query(sequence);
        if (!done) co_return done.error();
        next = machine.answered(how, *done, now = clock.now());
        break;
      }
      case wait_step::verb::block: {
        result<bool> done = co_await port.block(sequence);
        if (!done) co_return done.error();
        next = machine.answered(how, *done, now = clock.now());
        break;
      }
      case wait_step::verb::poll: {
        result<bool> done = co_await port.poll(sequence);
        if (!done) co_return done.error();
        next = machine.answered(how, *done, now = clock.now());
        break;
      }
      case wait_step::verb::arm: {
        result<void> armed = co_await port.arm();
        if (!armed) co_return armed.error();
        next = machine.armed(how, clock.now());
        break;
      }
      case wait_step::verb::sleep: {
        result<void> slept = co_await timer.sleep_until(next.until);
        if (!slept) co_return slept.error();
        next = machine.slept(how, clock.now());
        break;
      }
      case wait_step::verb::park: {
        result<park_answer> answer = co_await port.park(next.bound);
        if (!answer) co_return answer.error();
        next = machine.parked(how, *answer, clock.now());
        break;
      }
      case wait_step::verb::ended:
        co_return machine.report(how, now);
      case wait_step::verb::timed_out:
        co_return error(errc::TimedOut, {text_of(how.deadline - how.start)});
    }
  }
}

template <class Host, completion_port Port, clock_port Clock, timer_port Timer>
basic_task<Host, result<wait_report>> run_wait(Host& host, const wait_request& request, Port& port,
                                               Clock& clock, Timer& timer) {
  return run_wait(host, request.terms(), request.sequence, port, clock, timer);
}

}  // namespace gar
