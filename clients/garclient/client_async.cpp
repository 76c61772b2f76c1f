// Asynchronous waits: each a task of the service thread, ending as one completion.
#include <utility>

#include "clients/garclient/client.hpp"
#include "clients/garclient/task_port.hpp"

namespace gar::owner {
namespace {

constexpr int picks_max = 4;

}  // namespace

result<uint64_t> client::wait_async(const wait_order& order, void* user_data) {
  want_link_for(order.of);
  result<void> started = service_.start();
  if (!started) return started.error();
  const result<uint64_t> ticket = completions_.reserve();
  if (!ticket) return ticket.error();
  const auto w = std::make_shared<async_wait>();
  w->order = order;
  w->ticket = *ticket;
  w->user_data = user_data;
  w->host = &service_.host();
  service_.post([this, w] {
    auto owned = std::make_unique<async_wait>(std::move(*w));
    async_wait& here = *owned;
    async_.emplace(here.ticket, std::move(owned));
    here.root = service_.host().spawn(run_async(here));
  });
  return *ticket;
}

result<void> client::cancel(uint64_t ticket) {
  if (!completions_.was_given(ticket)) {
    return error(errc::InvalidArgument, {"ticket", std::to_string(ticket) + " was never given"});
  }
  service_.post([this, ticket] {
    const auto at = async_.find(ticket);
    if (at != async_.end()) service_.host().cancel(*at->second->root);
  });
  return {};
}

void client::end_async_of(const stream& s) {
  for (auto& [ticket, w] : async_) {
    if (w->order.of.get() != &s) continue;
    w->why_cancelled = errc::Closed;
    service_.host().cancel(*w->root);
  }
}

bool client::has_async_of(const stream& s) const {
  for (const auto& [ticket, w] : async_) {
    if (w->order.of.get() == &s) return true;
  }
  return false;
}

void client::end_all_async() {
  for (auto& [ticket, w] : async_) service_.host().cancel(*w->root);
}

reactor::task<> client::run_async(async_wait& w) {
  const wait_end end = co_await wait_as_task(w);
  gar_completion ended{};
  ended.ticket = w.ticket;
  ended.user_data = w.user_data;
  ended.error = end.failure ? end.failure->number() : 0;
  ended.report = to_report(end);
  completions_.put(ended);
  async_.erase(w.ticket);  // `w` is gone
}

reactor::task<wait_end> client::wait_as_task(async_wait& w) {
  wait_end end;
  plan_cache::choice c = choose(w.order);
  for (int picks = 0;; ++picks) {
    const std::shared_ptr<const binding> where = w.order.of->binding_of(w.order.sequence);
    const std::shared_ptr<link> via = delegate_to(w.order, c.how, *where);
    std::optional<owner_wait::reason> left;
    if (via && picks < picks_max) {
      left = co_await delegate_as_task(w, c, where, via, end);
      if (!left) break;
      if (*left == owner_wait::reason::stale) {
        c = choose(w.order);
        continue;
      }
      if (*left == owner_wait::reason::limit) {
        ++tally_.limit_refused;
        add_outcome(w.order, end, proto::outcome_refused);
      }
    }
    end = wait_end();
    end.ended = gard_would_run(w.order, c.how) ? wait_end::by::no_gard : wait_end::by::owner;
    const result<wait_report> report = co_await run_as_task(w, c.how, where);
    if (report) {
      end.report = *report;
    } else {
      end.failure = report.error();
      end.report.wait = steady_clock().now() - w.order.start;
    }
    break;
  }
  if (end.failure && end.failure->code() == errc::Cancelled) {
    end.ended = wait_end::by::given_up;
    end.failure = w.why_cancelled == errc::Closed ? error(errc::Closed, {"the stream"})
                                                  : error(errc::Cancelled);
  }
  account(w.order, c.how, end);
  let_go_settled(w.order.of);
  co_return end;
}

reactor::task<result<wait_report>> client::run_as_task(async_wait& w, plan how,
                                                       std::shared_ptr<const binding> where) {
  reactor& host = service_.host();
  task_port port(host, *w.order.of, *where, how, w.order.sequence, w.order.deadline);
  reactor_clock clock(host);
  reactor_timer timer(host);
  const wait_request request{how, sleep_for(w.order, how), w.order.sequence, w.order.start,
                             w.order.deadline};
  result<wait_report> report = co_await run_wait(host, request, port, clock, timer);
  co_return report;
}

// Nothing: the wait has ended, and `end` says how.
reactor::task<std::optional<owner_wait::reason>> client::delegate_as_task(
    async_wait& w, plan_cache::choice c, std::shared_ptr<const binding> where,
    std::shared_ptr<link> via, wait_end& end) {
  reactor& host = service_.host();
  const wait_order& order = w.order;
  const result<bool> first = order.of->query(order.sequence);
  if (!first || *first) {
    end.ended = wait_end::by::owner;
    end.report.wait = steady_clock().now() - order.start;
    end.report.sample = sample::exact(end.report.wait);
    if (!first) end.failure = first.error();
    co_return std::nullopt;
  }
  owner_wait machine({c.how, order.start, order.deadline}, host.now());
  mailbox box;
  box.host = &host;
  box.task = w.root;
  if (reached(proto::load_word(where->word()), order.sequence)) {
    machine.word_seen();
  } else if (!via->register_wait(box, wait_message(order, c, *where), order.point)) {
    co_return owner_wait::reason::lost;
  }
  owner_wait::step step{};
  for (;;) {
    via->collect(box, machine, order.of->is_confirmed(order.sequence));
    step = machine.next(host.now());
    if (step.what == owner_wait::todo::sleep) {
      const reactor::woke why = co_await host.wait_event(step.until);
      if (why == reactor::woke::cancelled) {
        via->forget(box, true);
        end.failure = error(errc::Cancelled);
        co_return std::nullopt;
      }
    } else if (step.what == owner_wait::todo::ask) {
      const result<bool> done = order.of->query(order.sequence);
      machine.answered(done, host.now());
    } else {
      break;
    }
  }
  const bool ended = step.what == owner_wait::todo::end;
  via->forget(box, ended && machine.ending().cancel_at_gard);
  if (!ended) co_return machine.leaving();
  take_over(end, machine, box.cookie != 0);
  end.report.wait = steady_clock().now() - order.start;
  if (end.ended == wait_end::by::backstop) via->found_silent();
  co_return std::nullopt;
}

}  // namespace gar::owner
