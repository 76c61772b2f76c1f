#include "tests/sim/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "proto/wire.hpp"
#include "tests/sim/estimator_watch.hpp"

namespace gar::sim {
namespace {

// From when faults have stopped to when all that was begun must have ended: the owner's backstop
// of the longest plan, and as much again for a wait that begins there, and the programs' own work.
constexpr uint64_t liveness_ns = 4'000'000'000;
constexpr uint64_t balance_ns = 1'200'000'000;
// What a client said last may still be on its way when it has gone.
constexpr uint64_t last_words_ns = 100'000'000;
constexpr size_t gard_bytes_most = 4 << 20;

// A new stream as one that has run for long: its numbers are about to wrap.
void come_with_history(std::vector<std::byte>& bytes, uint64_t base) {
  proto::open_fixed asked;
  if (bytes.size() != sizeof(asked)) return;
  std::memcpy(&asked, bytes.data(), sizeof(asked));
  if (asked.head.type != static_cast<uint16_t>(proto::message_type::open)) return;
  if (asked.base != 0) return;
  asked.base = base;
  std::memcpy(bytes.data(), &asked, sizeof(asked));
}

}  // namespace

world::world(uint64_t seed, bool print_all)
    : how_(seed),
      machine_(random_source(seed).next(), print_all),
      kernel_(machine_),
      judge_(machine_, how_),
      watch_(kernel_, judge_, how_) {
  kernel_now = &kernel_;
  machine_.faults = how_.scheduling;
  kernel_.faults = how_.messages;
  watch_.attach();
  watch_estimators(&judge_);
  if (how_.base != 0) {
    kernel_.rewrite = [this](socket_end& from, std::vector<std::byte>& bytes) {
      if (from.by_client) come_with_history(bytes, how_.base);
    };
  }
}

world::~world() {
  for (const std::unique_ptr<process>& p : machine_.processes()) kernel_.kill(*p);
  kernel_now = nullptr;
  watch_estimators(nullptr);
}

void world::start_gard() {
  gards_.push_back(
      std::make_unique<gard_process>(kernel_, how_.gard, static_cast<int>(gards_.size() + 1)));
}

void world::start_client() {
  programs_.push_back(std::make_unique<program>(kernel_, judge_, how_, devices_,
                                                static_cast<int>(programs_.size() + 1)));
  programs_.back()->opens = [this](gpu_stream& s) { watch_.follow(s); };
}

program* world::a_client() {
  std::vector<program*> running;
  for (const std::unique_ptr<program>& p : programs_) {
    if (!p->ended()) running.push_back(p.get());
  }
  return running.empty() ? nullptr : running[machine_.random.below(running.size())];
}

// ---- faults

void world::strike(uint32_t times, void (world::*what)()) {
  for (uint32_t i = 0; i < times; ++i) {
    machine_.at(start_ns_ + machine_.random.below(how_.faults_end_ns), [this, what] {
      if (!faults_over_) (this->*what)();
    });
  }
}

void world::plan_faults() {
  strike(how_.gard_kills, &world::kill_gard);
  strike(how_.gard_stops, &world::stop_gard);
  strike(how_.gard_freezes, &world::freeze_gard);
  strike(how_.client_kills, &world::kill_client);
  strike(how_.client_freezes, &world::freeze_client);
  strike(how_.connection_cuts, &world::cut_connection);
  strike(how_.device_breaks, &world::break_device);
  strike(static_cast<uint32_t>(how_.later_plans.size()), &world::change_plan);
  machine_.at(start_ns_ + how_.faults_end_ns, [this] { end_faults(); });
}

void world::kill_gard() {
  gard_process& g = *gards_.back();
  if (!g.serves()) return;
  ++faults_.gard_killed;
  machine_.say("world", "kills {}", g.of().name);
  kernel_.kill(g.of());
  g.killed();
  machine_.at(machine_.now_ns() + machine_.random.spread(10'000, 40'000'000), [this, old = &g] {
    if (gards_.back().get() == old) start_gard();
  });
}

void world::stop_gard() {
  gard_process& g = *gards_.back();
  if (!g.serves()) return;
  ++faults_.gard_stopped;
  machine_.say("world", "tells {} to stop", g.of().name);
  g.stop();
  machine_.at(machine_.now_ns() + machine_.random.spread(10'000, 40'000'000), [this, old = &g] {
    if (gards_.back().get() == old) start_gard();
  });
}

void world::freeze_gard() {
  process& p = gards_.back()->of();
  if (p.frozen) return;
  ++faults_.gard_frozen;
  machine_.say("world", "freezes {}", p.name);
  machine_.freeze(p);
  machine_.at(machine_.now_ns() + machine_.random.spread(100'000, 400'000'000), [this, &p] {
    if (!p.frozen) return;
    machine_.say("world", "thaws {}", p.name);
    machine_.thaw(p);
  });
}

void world::kill_client() {
  program* const c = a_client();
  if (!c) return;
  ++faults_.clients_killed;
  machine_.say("world", "kills {}", c->of().name);
  c->killed();
  kernel_.kill(c->of());
  if (machine_.random.below(2) == 0) start_client();
}

void world::freeze_client() {
  program* const c = a_client();
  if (!c || c->of().frozen) return;
  ++faults_.clients_frozen;
  process& p = c->of();
  machine_.say("world", "freezes {}", p.name);
  machine_.freeze(p);
  machine_.at(machine_.now_ns() + machine_.random.spread(100'000, 200'000'000), [this, &p] {
    if (!p.frozen) return;
    machine_.say("world", "thaws {}", p.name);
    machine_.thaw(p);
  });
}

void world::cut_connection() {
  const std::vector<std::shared_ptr<socket_end>> all = kernel_.connections();
  if (all.empty()) return;
  ++faults_.connections_cut;
  kernel_.cut(*all[machine_.random.below(all.size())]);
}

void world::break_device() {
  program* const c = a_client();
  if (!c || c->streams().empty()) return;
  gpu_stream& s = *c->streams()[machine_.random.below(c->streams().size())];
  if (s.is_word()) return;
  ++faults_.devices_broken;
  s.break_down();
}

void world::change_plan() {
  gard_process& g = *gards_.back();
  if (!g.serves() || plan_next_ == how_.later_plans.size()) return;
  ++faults_.plans_changed;
  const std::string& text = how_.later_plans[plan_next_++];
  machine_.say("world", "sets the plan '{}'", text);
  g.change_plan(text);
}

void world::end_faults() {
  machine_.say("world", "faults end");
  faults_over_ = true;
  machine_.faults = {};
  const size_t room = kernel_faults{}.messages_max;
  kernel_.faults = {};
  kernel_.faults.messages_max = room;
  for (const std::unique_ptr<process>& p : machine_.processes()) {
    if (p->frozen) machine_.thaw(*p);
  }
}

// ---- the run

template <class Done>
bool world::run_until(uint64_t limit_ns, Done&& done) {
  while (!judge_.failed()) {
    if (done()) return true;
    if (!machine_.step(limit_ns)) return done();
    watch_.step();
    gard_bytes_max_ = std::max(gard_bytes_max_, gards_.back()->memory_bytes());
  }
  return false;
}

bool world::programs_ended() const {
  return std::all_of(programs_.begin(), programs_.end(), [](const auto& p) { return p->ended(); });
}

void world::balance_books() {
  gard_process& g = *gards_.back();
  if (!g.serves()) return;
  // Its clients are gone: nothing of theirs may be left.
  const uint64_t until_ns = machine_.now_ns() + balance_ns;
  run_until(machine_.now_ns() + last_words_ns, [] { return false; });
  if (!g.serves()) return;
  g.audit();
  if (!run_until(until_ns, [&] { return g.audited().has_value() || !g.serves(); })) {
    return judge_.found("stuck gard", "its books cannot be read");
  }
  if (!g.audited()) return;  // it was told to stop
  const gard_process::books& b = *g.audited();
  if (b.sessions + b.pending + b.streams > 0) {
    judge_.found("kept books", fmt::format("without a client gard keeps {} sessions, {} streams, "
                                           "{} waits",
                                           b.sessions, b.streams, b.pending));
  }
  if (gard_bytes_max_ > gard_bytes_most) {
    judge_.found("memory", fmt::format("gard had {} bytes", gard_bytes_max_));
  }
}

run_result world::run() {
  machine_.say("world", "{}", how_.text());
  start_ns_ = machine_.now_ns();
  start_gard();
  for (size_t i = 0; i < how_.clients; ++i) start_client();
  plan_faults();
  const uint64_t limit_ns = start_ns_ + how_.faults_end_ns + liveness_ns;
  const bool ended = run_until(limit_ns, [this] { return programs_ended() && faults_over_; });
  if (!ended && !judge_.failed()) {
    std::string who;
    for (const auto& [number, open] : judge_.open()) {
      who += fmt::format("{} waits for {} of {}; ", open.who, open.sequence, open.stream->name());
    }
    judge_.found("hang", who.empty() ? "a program has not ended" : who);
  }
  if (!judge_.failed()) balance_books();
  run_result r;
  r.hash = machine_.log.hash();
  r.lines = machine_.log.lines();
  r.virtual_ns = machine_.now_ns() - start_ns_;
  r.failure = judge_.first();
  r.waits = judge_.waits();
  r.scheduling = machine_.counts;
  r.messages = kernel_.counts;
  r.devices = devices_;
  r.processes = faults_;
  r.gard_bytes_max = gard_bytes_max_;
  r.calm = how_.calm;
  return r;
}

}  // namespace gar::sim
