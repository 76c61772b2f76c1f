// One wait on the thread that waits: inline, or delegated to gard and finished here.
#include <algorithm>
#include <chrono>
#include <functional>
#include <new>
#include <utility>

#include "clients/garclient/client.hpp"
#include "clients/garclient/inline_port.hpp"
#include "clients/garclient/plan_picks.hpp"
#include "clients/garclient/thread_host.hpp"

namespace gar::owner {
namespace {

constexpr uint64_t key_of_stream = uint64_t{1} << 32;

// A flag is parked on until a store; where there are none the fallback is to poll.
plan without_stores(const stream& s, const plan& asked) {
  if (!s.stores_nothing() || asked.park != park_kind::flag) return asked;
  return {park_kind::poll, {}, {}, asked.predict};
}

result<wait_report> run_on_thread(const wait_request& request, inline_port& port,
                                  sleep_lateness& sleeps) {
  inline_host& host = thread_host();
  steady_clock clock;
  learned_timer timer(sleeps);
  return host.run(run_wait(host, request, port, clock, timer), "gar_wait");
}

}  // namespace

wait_end client::wait(const wait_order& order) {
  if (order.as == booking::real) want_link_for(order.of);
  std::optional<wait_end> end;
  plan_cache::choice c = choose(order);
  for (plan_picks picks;;) {
    const std::shared_ptr<const binding> where = order.of->binding_of(order.sequence);
    if (picks.left() && delegate_to(order, c.how, *where)) {
      picks.take();
      owner_wait::reason left{};
      end = run_delegated(order, c, where, left);
      if (end) break;
      if (left == owner_wait::reason::stale) {
        const instant now = steady_clock().now();
        await_newer(c.generation, picks.pause(now, picks.until_woken, order.deadline) - now);
        c = choose(order);
        continue;
      }
      if (left == owner_wait::reason::limit) count_refused(order);
    }
    end = run_inline(order, c.how, *where);
    break;
  }
  settle_accounts(order, c.how, *end);
  return *std::move(end);
}

std::optional<wait_end> client::run_delegated(const wait_order& order, const plan_cache::choice& c,
                                              const std::shared_ptr<const binding>& where,
                                              owner_wait::reason& left) {
  where->via->make_room();
  gard_wait w(order, c, where, nullptr);
  gard_wait::state s = w.begin();
  while (s.what == gard_wait::now::sleeps) {
    w.via().await_news(w.box(), s.seen, s.until, s.at_gard ? look_ : duration{});
    s = w.go();
  }
  if (s.what == gard_wait::now::ended) return w.take_end();
  left = w.leaving();
  return std::nullopt;
}

plan_cache::choice client::choose(const wait_order& order) const {
  std::lock_guard lock(plans_lock_);
  plan_cache::choice c = plans_.select(order.point, order.rows);
  c.how = without_stores(*order.of, c.how);
  return c;
}

void client::await_newer(uint64_t generation, duration patience) {
  std::unique_lock lock(plans_lock_);
  plans_changed_.wait_for(lock, std::chrono::nanoseconds(patience.ns),
                          [&] { return plans_.generation() != generation; });
}

std::optional<error> client::warning_of(const stream& s) const {
  std::lock_guard lock(plans_lock_);
  const plan asked = plans_.select({}, rows()).how;
  const plan running = without_stores(s, asked);
  if (running == asked) return std::nullopt;
  return error(errc::ParkFallback,
               {asked.label(), "stream stores", s.device()->why_no_stores(), running.label()});
}

bool client::gard_would_run(const wait_order& order, const plan& how) const {
  if (order.run_inline) return false;
  return how.park == park_kind::flag || order.of->word_is_authority();
}

std::shared_ptr<link> client::delegate_to(const wait_order& order, const plan& how,
                                          const binding& where) const {
  if (!gard_would_run(order, how) || !where.via) return nullptr;
  if (!where.via->alive() || !where.via->speaks()) return nullptr;
  return where.via;
}

wait_end client::run_inline(const wait_order& order, const plan& how, const binding& where) {
  steady_clock clock;
  const wait_request request{how, sleep_for(order, how), order.sequence, order.start,
                             order.deadline};
  inline_port::looking way{};
  // The sleep ends a margin before the word is expected.
  if (request.sleep) way.expected_after = std::max(how.predict->margin, sleeps().floor());
  if (request.sleep && order.rehearse && order.of->is_confirmed(where.base)) {
    way.before_park = [&] {
      order.rehearse(where.base);
      (void)order.of->check_recorded(order.sequence);  // a look at the record that goes at the end
    };
  }
  inline_port port(*order.of, where, how, order.sequence, order.deadline, std::move(way));
  wait_end end;
  end.ended = gard_would_run(order, how) ? wait_end::by::no_gard : wait_end::by::owner;
  result<wait_report> report = run_on_thread(request, port, sleeps());
  if (report) {
    end.report = *report;
  } else {
    end.failure = report.error();
    end.report.wait = clock.now() - order.start;
  }
  return end;
}

uint64_t client::estimate_key(const wait_order& order) {
  if (order.point.empty()) return key_of_stream + order.of->id();
  const point_numbers::answer known = points_.number_of(order.point);
  if (known.fresh) estimates_.erase(known.number);
  return known.number;
}

duration client::sleep_for(const wait_order& order, const plan& how) {
  if (!how.predict) return {};
  std::lock_guard lock(estimates_lock_);
  return estimates_.sleep_for(estimate_key(order), how, &sleeps());
}

sleep_lateness& client::sleeps() {
  std::call_once(sleeps_measured_, [this] { sleeps_.emplace(process_margin_floor()); });
  return *sleeps_;
}

void client::settle_accounts(const wait_order& order, const plan& how,
                             const wait_end& end) noexcept {
  try {
    account(order, how, end);
    let_go_settled(order.of);
  } catch (const std::bad_alloc&) {
    // How the wait ended matters more than who hears of it; pages are let go of by the next one.
  }
}

void client::count_refused(const wait_order& order) {
  ++tally_.limit_refused;
  add_outcome(order, {}, proto::outcome_refused);
}

void client::account(const wait_order& order, const plan& how, const wait_end& end) {
  count(end, order.as);
  learn(order, how, end);
  for (uint32_t i = 0; i < end.report.early_words; ++i) {
    add_outcome(order, end, proto::outcome_early_word);
  }
  // gard knows how the others ended: it ended them, or was told to cancel them.
  if (end.ended == wait_end::by::owner || end.ended == wait_end::by::no_gard) {
    add_outcome(order, end, proto::outcome_wait);
  }
}

void client::count(const wait_end& end, booking as) {
  const uint64_t one = as == booking::real ? 1 : 0;
  const bool without = end.ended == wait_end::by::no_gard || end.ended == wait_end::by::backstop;
  tally_.waits += one;
  if (end.ended == wait_end::by::gard) tally_.delegated += one;
  if (without) tally_.in_process += one;
  if (end.ended == wait_end::by::backstop) tally_.owner_backstops += one;
  if (end.report.early_words > 0) tally_.early_words += end.report.early_words * one;
}

void client::learn(const wait_order& order, const plan& how, const wait_end& end) {
  sample seen = end.report.sample;
  if (end.ended == wait_end::by::gard) {
    // What gard learned from this wait is learned here too, for the day it is gone.
    seen = end.report.kind == wait_kind::late ? sample::late(end.report.wait)
                                              : sample::exact(end.report.wait);
  }
  if (end.failure || seen.what == sample::kind::none) return;
  std::lock_guard lock(estimates_lock_);
  const uint64_t key = estimate_key(order);
  if (order.as == booking::rehearsed) {
    (void)estimates_.sleep_for(key, how);
    rehearsed_.record(0, seen, how);
    return;
  }
  estimates_.record(key, seen, how);
}

void client::add_outcome(const wait_order& order, const wait_end& end, uint8_t what) {
  const std::shared_ptr<const binding> at = order.of->current();
  if (!at->via || !at->via->alive()) return;
  proto::outcome_entry e{};
  e.stream = at->stream_id;
  e.stream_generation = at->stream_generation;
  e.rows = order.rows;
  e.what = what;
  if (what == proto::outcome_wait) {
    e.wait_ns = end.report.wait.ns;
    e.slept_ns = end.report.slept.ns;
    e.sample_ns = end.report.sample.value.ns;
    e.parks = end.report.parks;
    e.backstop_queries = end.report.backstop_queries;
    e.code = end.failure ? end.failure->number() : 0;
    e.kind = static_cast<uint8_t>(end.report.kind);
    e.sample = static_cast<uint8_t>(end.report.sample.what);
  }
  // A wait that failed reports no length.
  const instant now = end.failure ? steady_clock().now() : order.start + end.report.wait;
  service_.need_by(at->via->add_outcome(e, order.point, now, order.as));
}

}  // namespace gar::owner
