#include "daemon/engine.hpp"

#include <fmt/format.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <condition_variable>
#include <csignal>
#include <mutex>

#include "daemon/client_sockets.hpp"
#include "daemon/latency_keeper.hpp"
#include "daemon/log.hpp"
#include "lib/linux/probe.hpp"
#include "lib/linux/process_usage.hpp"
#include "lib/linux/thread_placement.hpp"
#include "lib/linux/timer_slack.hpp"
#include "lib/linux/unix_socket.hpp"

namespace gar {
namespace asio = boost::asio;

namespace {

// What a stop may take for clients that have not read their last messages.
constexpr duration last_messages_max = from_ms(300);
// Of a list that is read in parts. What a client's entry costs grows with its pending waits.
constexpr size_t clients_per_part = 8;
constexpr size_t entries_per_part = 64;
constexpr size_t traced_waits_per_part = 1024;
// The connections for control, and files that are opened for a moment.
constexpr uint64_t descriptors_not_for_clients = 64 + 16;

// Of the calling thread; says what it really got.
executor_thread_snapshot set_up_executor_thread(const engine_options& how) {
  name_thread("gard-waits");
  executor_thread_snapshot got;
  const auto granted = [&got](const result<void>& done) {
    if (done) return true;
    log(log_level::warning, "the executor's thread: " + done.error().headline());
    got.warnings.push_back(done.error());
    return false;
  };
  granted(set_timer_slack_ns(timer_slack_ns_least));
  if (how.cpu && granted(pin_thread(*how.cpu))) got.cpu = *how.cpu;
  if (how.scheduling == scheduling::fifo && granted(schedule_fifo(how.priority))) {
    got.scheduling = fmt::format("fifo:{}", how.priority);
  }
  if (const result<uint64_t> slack_ns = timer_slack_ns()) got.timer_slack_ns = *slack_ns;
  return got;
}

struct chosen_executor {
  resolved_executor resolved;
  std::optional<ring_parts> ring;  // for io-uring
};

result<ring_parts> make_ring_parts() {
  result<deadline_ring> ring = deadline_ring::make();
  if (!ring) return ring.error();
  result<socket_ring> sockets = socket_ring::make(*ring);
  if (!sockets) return sockets.error();
  return ring_parts{std::move(*sockets), std::move(*ring)};
}

// A host may refuse a ring at any time, also just after the probe had one: then the next executor
// of the chain runs.
result<chosen_executor> choose_executor(const engine_options& options, capabilities& host) {
  result<resolved_executor> resolved = resolve_executor(options.executor, options.strictness, host);
  if (!resolved) return resolved.error();
  if (resolved->running != executor_kind::io_uring) return chosen_executor{*resolved, {}};
  result<ring_parts> ring = make_ring_parts();
  if (ring) return chosen_executor{*resolved, std::move(*ring)};
  host.set_absent(capability::io_uring, ring.error().text());
  return choose_executor(options, host);
}

}  // namespace

// Members in the order in which they need each other; torn down the other way round.
class engine::parts {
 public:
  parts(engine_options o, host_probe probed, chosen_executor chosen, doorbell bell_made,
        state_page_owner state_made)
      : options(std::move(o)),
        host(std::move(probed)),
        latency(options.cpu_dma_latency),
        executor(std::move(chosen.resolved)),
        ring(std::move(chosen.ring)),
        bell(std::move(bell_made)),
        state(std::move(state_made)),
        decisions(node_options_of(), [this] { asio::post(io, [this] { sockets.carry_out(); }); }),
        asked(io),
        traces(io,
               [this](std::shared_ptr<wait_trace> to) {
                 waits.trace(std::move(to));
                 waits.kick();
               }),
        sockets(io, {&decisions, &waits, &bell, &state, &asked,
                     descriptor_reserve(raise_descriptor_limit(), descriptors_not_for_clients),
                     [this](std::string_view json, uint32_t uid) { return answer(json, uid); }}),
        ends(io),
        reloads(io) {}

  node_options node_options_of() {
    node_options n;
    n.limits = options.settings.limits;
    n.host = host.capabilities;
    n.page_bytes = static_cast<uint32_t>(system_page_bytes());
    if (executor.running == executor_kind::naive) n.waits_max = n.limits.naive_workers;
    n.word_wait = name_of(host.word_wait.report.kind);
    n.executor = name_of(executor.running);
    n.margin_floor = host.sleep_overshoot;
    n.clock = [this] { return clock.now(); };
    n.make_page = [this](session_id of) { return sockets.make_page(of); };
    if (executor.running != executor_kind::naive) {
      n.make_ring = [this](session_id of, uint32_t entries) {
        return sockets.make_ring(of, entries);
      };
    }
    return n;
  }

  result<void> open();
  void set_up_thread() {
    executor_thread_snapshot got = set_up_executor_thread(options);
    {
      const std::lock_guard hold(thread_lock);
      thread = std::move(got);
      thread_is_set_up = true;
    }
    thread_set_up.notify_one();
  }
  stepwise_answer answer(std::string_view json, uint32_t uid) {
    if (!options.answer) return stepwise_answer("{}");
    return options.answer(json, request_scope::client(uid));
  }
  void wait_for_end(engine& self);
  void wait_for_reload(engine& self);
  void stop();
  void changed_plans() {
    state.publish_generation(plan_generation());
    sockets.carry_out();
  }
  uint64_t plan_generation() {
    return decisions.with([](node& n) { return n.plans().generation(); });
  }

  engine_options options;
  host_probe host;
  latency_keeper latency;
  mutable std::mutex thread_lock;
  std::condition_variable thread_set_up;
  bool thread_is_set_up = false;
  executor_thread_snapshot thread;  // the executor's, or the last of them
  resolved_executor executor;
  std::optional<ring_parts> ring;  // until the executor has it
  doorbell bell;
  state_page_owner state;
  steady_clock clock;
  instant started = clock.now();
  asio::io_context io{1};
  shared_node decisions;
  wait_service waits;
  gar::questions asked;
  tracing traces;
  client_sockets sockets;
  // Apart, so that a stop does not wait behind any number of reloads.
  asio::signal_set ends;
  asio::signal_set reloads;
  bool stopped = false;
};

result<std::unique_ptr<engine>> engine::make(engine_options options) {
  host_probe probed = probe_host({.software_word_wait = options.software_word_wait,
                                  .software = {static_cast<uint32_t>(options.software_spin.ns),
                                               static_cast<uint32_t>(options.software_sleep.ns)}});
  result<chosen_executor> chosen = choose_executor(options, probed.capabilities);
  if (!chosen) return chosen.error();
  result<doorbell> bell = doorbell::make();
  if (!bell) return bell.error();
  result<state_page_owner> state = state_page_owner::make();
  if (!state) return state.error();
  auto made = std::make_unique<parts>(std::move(options), std::move(probed), std::move(*chosen),
                                      std::move(*bell), std::move(*state));
  result<void> opened = made->open();
  if (!opened) return opened.error();
  return std::unique_ptr<engine>(new engine(std::move(made)));
}

result<void> engine::parts::open() {
  // Before anybody can know that gard is there; what comes before `run` waits for it.
  for (const int number : {SIGTERM, SIGINT}) ends.add(number);
  reloads.add(SIGHUP);
  // First of all: of two gards that start, one stops here, before it has a thread.
  if (!options.listener) {
    result<unique_fd> made = listen_at(options.socket_path, {.type = socket_type::seqpacket,
                                                             .mode = options.socket_mode,
                                                             .group = options.socket_group,
                                                             .backlog = 1024});
    if (!made) return made.error();
    options.listener = std::move(*made);
  }
  latency_keeper* const told = options.cpu_dma_latency ? &latency : nullptr;
  waits.open(executor.running, decisions,
             {&bell, &state, host.word_wait.waiter, told, options.alive}, std::move(ring),
             options.settings.limits.naive_workers, [this] { set_up_thread(); });
  if (executor.running != executor_kind::naive) {
    // Whoever can ask is told what the thread really got. A naive worker comes with its first wait.
    std::unique_lock hold(thread_lock);
    thread_set_up.wait(hold, [this] { return thread_is_set_up; });
  }
  decisions.with([this](node& n) {
    n.configure(options.settings.plans, false);
    if (executor.warning) {
      n.note(event_kind::warning, executor.warning->text(), executor.warning->number());
    }
  });
  latency.tell([this](bool held, const std::optional<error>& refused) {
    decisions.with([&](node& n) {
      if (refused) return n.note(event_kind::warning, refused->text(), refused->number());
      n.note(held ? event_kind::latency_held : event_kind::latency_released,
             held ? "the CPUs are kept out of deep sleep" : "the CPUs may sleep deeply");
    });
  });
  state.publish_generation(plan_generation());
  sockets.accept_on(std::move(options.listener));
  return {};
}

engine::engine(std::unique_ptr<parts> p) : parts_(std::move(p)) {}

engine::~engine() {
  stop();
}

asio::io_context& engine::io() {
  return parts_->io;
}

result<void> engine::run() {
  parts_->wait_for_end(*this);
  parts_->wait_for_reload(*this);
  const auto work = asio::make_work_guard(parts_->io);
  parts_->io.run();
  return {};
}

void engine::parts::wait_for_end(engine& self) {
  ends.async_wait([&self](const boost::system::error_code& failed, int) {
    if (!failed) self.stop();
  });
}

void engine::parts::wait_for_reload(engine& self) {
  reloads.async_wait([this, &self](const boost::system::error_code& failed, int) {
    if (failed) return;
    (void)self.reload(false);
    wait_for_reload(self);
  });
}

void engine::stop() {
  parts_->stop();
}

void engine::parts::stop() {
  if (std::exchange(stopped, true)) return;
  if (options.stopping) options.stopping();
  latency.tell(nullptr);
  ends.cancel();
  reloads.cancel();
  sockets.stop_accepting();
  decisions.with([](node& n) { n.stop(); });
  sockets.carry_out();
  waits.stop();
  sockets.take_back();
  sockets.send_rest(clock.now() + last_messages_max);
  decisions.with([](node& n) { n.say_bye(); });
  sockets.carry_out();
  io.stop();
}

bool engine::ask_alive() {
  const bool asked = parts_->waits.ask_alive();
  parts_->waits.kick();
  return asked;
}

// ---- what people see and change

status_snapshot engine::status(const request_scope& scope) const {
  parts& p = *parts_;
  const process_usage usage = read_process_usage();
  status_snapshot s;
  s.version = p.options.version;
  s.pid = usage.pid;
  s.uptime_ms = (p.clock.now() - p.started).ns / 1'000'000;
  s.executor = {std::string(name_of(p.executor.requested)),
                std::string(name_of(p.executor.running)),
                std::string(name_of(p.options.strictness)), p.executor.warning};
  const word_wait_report& word_wait = p.host.word_wait.report;
  s.latency.cpu_dma_latency = p.latency.snapshot();
  {
    const std::lock_guard hold(p.thread_lock);
    s.latency.thread = p.thread;
  }
  s.word_wait = {std::string(name_of(word_wait.kind)), word_wait.hardware, word_wait.why};
  for (size_t i = 0; i < capability_count; ++i) {
    const capability which = static_cast<capability>(i);
    const capability_state& state = p.host.capabilities[which];
    s.capabilities.push_back({std::string(name_of(which)), state.available, state.why});
  }
  s.reactor = p.waits.counts();
  s.process_cpu_ms = usage.cpu_ms;
  s.process_rss_kib = usage.rss_kib;
  p.decisions.with([&](node& n) { n.describe(s, scope.uid, p.clock.now()); });
  return s;
}

// Copied: text is made without the lock.
node_figures engine::figures() const {
  node_figures f = parts_->decisions.with([](const node& n) {
    return node_figures{n.statistics(), n.events().counts(), {}};
  });
  f.told = parts_->waits.told();
  return f;
}

std::string engine::metrics(metrics_dialect as) const {
  return node_metrics(status(request_scope::control()), figures(), as);
}

engine::events_part engine::events(const request_scope& scope,
                                   std::optional<uint64_t> after) const {
  parts& p = *parts_;
  return p.decisions.with([&](const node& n) {
    const event_log& log = n.events();
    event_log::reading read = after ? log.read_after(*after, scope.uid, entries_per_part)
                                    : event_log::reading{{}, log.last(scope.uid), 0, false};
    return events_part{std::move(read), p.started.ns, p.clock.now()};
  });
}

void engine::note(event_kind what, std::string text, uint16_t code) {
  parts_->decisions.with([&](node& n) { n.note(what, std::move(text), code); });
}

result<uint64_t> engine::trace(duration how_long) {
  return parts_->traces.start(how_long, parts_->clock.now());
}

result<tracing::part> engine::read_trace(uint64_t which) {
  return parts_->traces.read(which, traced_waits_per_part, parts_->clock.now());
}

std::vector<client_snapshot> engine::clients(const request_scope& scope, list_place& at) const {
  std::vector<client_snapshot> part = parts_->decisions.with(
      [&](node& n) { return n.clients(scope.uid, parts_->clock.now(), at, clients_per_part); });
  for (client_snapshot& each : part) each.told = parts_->sockets.told(each.id);
  return part;
}

std::vector<stream_snapshot> engine::streams(const request_scope& scope, list_place& at) const {
  return parts_->decisions.with(
      [&](node& n) { return n.streams(scope.uid, parts_->clock.now(), at, entries_per_part); });
}

std::vector<point_snapshot> engine::points(const request_scope& scope, list_place& at) const {
  return parts_->decisions.with(
      [&](node& n) { return n.points(scope.uid, at, entries_per_part, parts_->clock.now()); });
}

gar::questions& engine::questions() {
  return parts_->asked;
}

uint64_t engine::plan_generation() const {
  return parts_->plan_generation();
}

std::vector<plan_in_force> engine::plans() const {
  return parts_->decisions.with([](node& n) { return n.plans().in_force(); });
}

result<uint64_t> engine::plan_set(plan_scope scope, const bands& requested) {
  result<void> done =
      parts_->decisions.with([&](node& n) { return n.plan_set(std::move(scope), requested); });
  if (!done) return done.error();
  parts_->changed_plans();
  return plan_generation();
}

result<uint64_t> engine::plan_unset(const plan_scope& scope) {
  result<void> done = parts_->decisions.with([&](node& n) { return n.plan_unset(scope); });
  if (!done) return done.error();
  parts_->changed_plans();
  return plan_generation();
}

result<uint64_t> engine::reload(bool replace) {
  if (!parts_->options.reload) return plan_generation();
  result<engine_settings> read = parts_->options.reload();
  if (!read) {
    log(log_level::error, "the reload changed nothing: " + read.error().headline());
    note(event_kind::warning, "the reload changed nothing: " + read.error().text(),
         read.error().number());
    parts_->options.reloaded(read.error());
    return read.error();
  }
  parts_->decisions.with([&](node& n) {
    n.set_limits(read->limits);
    n.configure(read->plans, replace);
  });
  parts_->changed_plans();
  log(log_level::info, fmt::format("reloaded; plan generation {}", plan_generation()));
  parts_->options.reloaded({});
  return plan_generation();
}

}  // namespace gar
