// Asynchronous waits, each ending as one completion.
//
// One that gard runs is stepped by whoever has news of it; one that is run here is a task of the
// service thread.
#include <array>
#include <exception>
#include <utility>

#include "clients/garclient/client.hpp"
#include "clients/garclient/last_error.hpp"
#include "clients/garclient/task_port.hpp"
#include "clients/garclient/task_timer.hpp"

namespace gar::owner {
namespace {

// What a wait ends with that threw. It ends all the same where there is no memory to say more.
wait_end thrown(const std::exception& e) noexcept {
  wait_end end;
  end.ended = wait_end::by::given_up;
  end.failure = of_exception(e);
  return end;
}

}  // namespace

result<uint64_t> client::wait_async(const wait_order& order, void* user_data) {
  want_link_for(order.of);
  result<void> started = service_.start();
  if (!started) return started.error();
  if (const std::shared_ptr<link> at = live_link()) at->make_room();
  const result<uint64_t> ticket = completions_.reserve();
  if (!ticket) return ticket.error();
  async_wait* w = nullptr;
  try {
    w = &async_.add(order, *ticket, user_data);
  } catch (...) {
    completions_.give_back();
    throw;
  }
  step_on(*w);
  return *ticket;
}

void client::step_async(async_wait& w) {
  if (async_.begin_step(w)) step_on(w);
}

// The step of `w` is the caller's.
void client::step_on(async_wait& w) {
  for (;;) {
    std::optional<instant> until;
    try {
      until = advance_async(w);
    } catch (const std::exception& e) {
      finish_async(w, thrown(e));
    }
    if (!until) return;  // it has ended, or is a task now
    const instant due = *until;
    if (async_.rest(w, due)) {
      service_.need_by(due);
      return;
    }
  }
}

// When it is to be stepped next; nothing where it is no longer stepped.
std::optional<instant> client::advance_async(async_wait& w) {
  if (const errc why = async_.cancelled(w); why != errc{}) {
    give_up_async(w, why);
    return std::nullopt;
  }
  for (;;) {
    const std::optional<gard_wait::state> s = w.at_gard ? w.at_gard->go() : begin_at_gard(w);
    if (!s) {
      run_here(w);
      return std::nullopt;
    }
    if (s->what == gard_wait::now::sleeps) return s->until;
    if (s->what == gard_wait::now::ended) {
      finish_async(w, w.at_gard->take_end());
      return std::nullopt;
    }
    if (const auto pause = left_gard(w)) return pause;
  }
}

void client::give_up_async(async_wait& w, errc why) {
  if (!w.at_gard) w.at_gard.emplace(w.order, w.choice, w.order.of->current(), &w);
  w.at_gard->cancel(why);
  finish_async(w, w.at_gard->take_end());
}

// Nothing where it is to be run here.
std::optional<gard_wait::state> client::begin_at_gard(async_wait& w) {
  w.choice = choose(w.order);
  const std::shared_ptr<const binding> where = w.order.of->binding_of(w.order.sequence);
  if (!w.picks.left() || !delegate_to(w.order, w.choice.how, *where)) return std::nullopt;
  w.picks.take();
  w.at_gard.emplace(w.order, w.choice, where, &w);
  return w.at_gard->begin();
}

// Until when to pause before the wait begins anew; nothing: at once.
std::optional<instant> client::left_gard(async_wait& w) {
  const owner_wait::reason left = w.at_gard->leaving();
  w.at_gard.reset();
  if (left == owner_wait::reason::stale) {
    const uint64_t refused = std::exchange(w.choice, choose(w.order)).generation;
    if (w.choice.generation != refused) return std::nullopt;
    // The newer plans are still on their way.
    return w.picks.pause(steady_clock().now(), plan_picks::until_looked, w.order.deadline);
  }
  if (left == owner_wait::reason::limit) count_refused(w.order);
  w.picks.give_up();
  return std::nullopt;
}

void client::run_here(async_wait& w) {
  async_.become_task(w);
  w.host = &service_.host();
  // Where this throws nobody else has it yet, and the caller ends it.
  service_.post([this, &w] {
    try {
      w.root = service_.host().spawn(run_async(w));
    } catch (const std::exception& e) {
      finish_async(w, thrown(e));
    }
  });
}

void client::finish_async(async_wait& w, const wait_end& end) noexcept {
  settle_accounts(w.order, w.choice.how, end);
  gar_completion ended{};
  ended.ticket = w.ticket;
  ended.user_data = w.user_data;
  ended.error = end.failure ? end.failure->number() : 0;
  ended.report = to_report(end);
  completions_.put(ended);
  async_.remove(w);  // `w` may be another's from here on
}

result<void> client::cancel(uint64_t ticket) {
  if (!completions_.was_given(ticket)) {
    return error(errc::InvalidArgument, {"ticket", std::to_string(ticket) + " was never given"});
  }
  end_found(async_.cancel(ticket, errc::Cancelled));
  return {};
}

void client::end_found(const async_waits::found& one) noexcept {
  if (!one.wait) return;
  if (one.is_task) {
    service_.need_by({});
  } else {
    step_async(*one.wait);
  }
}

void client::end_async_of(const stream* s, errc why) noexcept {
  for (;;) {
    const async_waits::found one = async_.cancel_next_of(s, why);
    if (!one.wait) break;
    end_found(one);
  }
  async_.await_none_of(s);
}

bool client::step_due() {
  std::array<async_wait*, 64> due;
  // What has ended at gard is not asked for again.
  if (const std::shared_ptr<link> at = live_link()) at->take_ring();
  const size_t count = async_.take_due(steady_clock().now(), due);
  for (size_t i = 0; i < count; ++i) {
    if (reactor::root* const task = async_.cancelled_task(*due[i])) {
      service_.host().cancel(*task);
    } else {
      step_async(*due[i]);
    }
  }
  return count > 0;
}

reactor::task<> client::run_async(async_wait& w) {
  wait_end end;
  try {
    end = co_await end_of_task(w);
  } catch (const std::exception& e) {
    end = thrown(e);
  }
  if (end.failure) end.report.wait = steady_clock().now() - w.order.start;
  finish_async(w, end);
}

reactor::task<wait_end> client::end_of_task(async_wait& w) {
  const std::shared_ptr<const binding> where = w.order.of->binding_of(w.order.sequence);
  wait_end end;
  end.ended = gard_would_run(w.order, w.choice.how) ? wait_end::by::no_gard : wait_end::by::owner;
  if (async_.cancelled(w) != errc{}) {
    end.failure = error(errc::Cancelled);
  } else {
    const result<wait_report> report = co_await run_as_task(w, w.choice.how, where);
    if (report) {
      end.report = *report;
    } else {
      end.failure = report.error();
    }
  }
  if (end.failure && end.failure->code() == errc::Cancelled) {
    end.ended = wait_end::by::given_up;
    if (async_.cancelled(w) == errc::Closed) end.failure = given_up(errc::Closed);
  }
  co_return end;
}

reactor::task<result<wait_report>> client::run_as_task(async_wait& w, plan how,
                                                       std::shared_ptr<const binding> where) {
  reactor& host = service_.host();
  task_port port(host, *w.order.of, *where, how, w.order.sequence, w.order.deadline);
  reactor_clock clock(host);
  task_timer timer(host, sleeps());
  const wait_request request{how, sleep_for(w.order, how), w.order.sequence, w.order.start,
                             w.order.deadline};
  result<wait_report> report = co_await run_wait(host, request, port, clock, timer);
  co_return report;
}

}  // namespace gar::owner
