#include "tests/sim/gard_process.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "daemon/client_sockets.hpp"
#include "daemon/shared_node.hpp"
#include "daemon/wait_service.hpp"
#include "tests/sim/monitor.hpp"

namespace gar::sim {

namespace asio = boost::asio;

struct gard_process::parts {
  parts(const gard_settings& how, doorbell bell_made, state_page_owner state_made)
      : bell(std::move(bell_made)),
        state(std::move(state_made)),
        decisions(options_of(how), [this] { asio::post(io, [this] { sockets.carry_out(); }); }),
        asked(io),
        sockets(io, {&decisions, &waits, &bell, &state, &asked, descriptor_reserve(0, 0),
                     [](std::string_view, uint32_t) { return stepwise_answer("{}"); }}) {}

  node_options options_of(const gard_settings& how) {
    node_options n;
    n.limits = how.limits;
    n.host = capabilities::all_available();
    n.page_bytes = static_cast<uint32_t>(system_page_bytes());
    if (how.naive) n.waits_max = n.limits.naive_workers;
    n.word_wait = how.hardware ? "mwaitx" : "software";
    n.executor = how.naive ? "naive" : "gpu-reactor";
    n.margin_floor = duration{how.margin_floor_ns};
    n.make_page = [this](session_id of) { return sockets.make_page(of); };
    if (how.ring && !how.naive) {
      n.make_ring = [this](session_id of, uint32_t entries) {
        return sockets.make_ring(of, entries);
      };
    }
    return n;
  }

  void stop() {
    sockets.stop_accepting();
    decisions.with([](node& n) { n.stop(); });
    sockets.carry_out();
    waits.stop();
    sockets.take_back();
    sockets.send_rest(clock.now() + from_ms(300));
    decisions.with([](node& n) { n.say_bye(); });
    sockets.carry_out();
    io.stop();
  }

  doorbell bell;
  state_page_owner state;
  steady_clock clock;
  asio::io_context io{1};
  shared_node decisions;
  wait_service waits;
  questions asked;
  client_sockets sockets;
};

gard_process::gard_process(kernel& k, const gard_settings& how, int number)
    : kernel_(&k), how_(how) {
  process_ = &k.on->start_process("gard" + std::to_string(number), 0);
  listener_ = k.give(*process_, k.listen("/run/gard.sock", *process_));
  k.on->start_thread(*process_, process_->name, [this] { run(); });
}

void gard_process::run() {
  const word_waiter waiter =
      how_.hardware ? simulated_waiter()
                    : word_waiter(software_wait{how_.spin_us * 1000, how_.sleep_us * 1000});
  parts p(how_, *doorbell::make(), *state_page_owner::make());
  p.waits.open(how_.naive ? executor_kind::naive : executor_kind::gpu_reactor, p.decisions,
               {&p.bell, &p.state, waiter, nullptr}, std::nullopt, how_.limits.naive_workers,
               [] {});
  std::vector<configured_plan> plans{{{}, *bands::parse(how_.plan)}};
  if (how_.point_plan) plans.push_back({{{}, "p1"}, *bands::parse(*how_.point_plan)});
  p.decisions.with([&](node& n) { n.configure(plans, false); });
  p.state.publish_generation(p.decisions.with([](node& n) { return n.plans().generation(); }));
  p.sockets.accept_on(unique_fd(listener_));
  parts_ = &p;
  serves_ = true;
  const auto work = asio::make_work_guard(p.io);
  p.io.run();
  parts_ = nullptr;
  stopped_ = true;
}

void gard_process::change_plan(const std::string& text) {
  kernel_->on->start_thread(*process_, process_->name + ".person", [this, text] {
    if (!parts_) return;
    parts& p = *parts_;
    asio::post(p.io, [&p, text] {
      (void)p.decisions.with([&](node& n) { return n.plan_set({}, *bands::parse(text)); });
      p.state.publish_generation(p.decisions.with([](node& n) { return n.plans().generation(); }));
      p.sockets.carry_out();
    });
  });
}

void gard_process::stop() {
  kernel_->on->start_thread(*process_, process_->name + ".signal", [this] {
    if (!parts_) return;
    serves_ = false;
    asio::post(parts_->io, [p = parts_] { p->stop(); });
  });
}

void gard_process::audit() {
  books_.reset();
  kernel_->on->start_thread(*process_, process_->name + ".auditor", [this] {
    if (!parts_) return;
    books found;
    parts_->decisions.with([&](node& n) {
      status_snapshot s;
      n.describe(s, std::nullopt, parts_->clock.now());
      found.sessions = n.sessions();
      found.pending = n.pending();
      found.waits = s.waits;
      found.streams = n.streams(std::nullopt, parts_->clock.now()).size();
    });
    books_ = found;
  });
}

}  // namespace gar::sim
