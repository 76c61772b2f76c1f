#include "clients/demo/demo_run.hpp"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "clients/demo/gard_watch.hpp"
#include "clients/demo/worker_process.hpp"
#include "lib/core/plan.hpp"
#include "lib/linux/word_wait.hpp"

namespace gar {
namespace {

constexpr uint32_t rounds_max = 5;

volatile sig_atomic_t stop_signal = 0;

// Without SA_RESTART: a signal ends the read that waits for a worker, and the plans are unset.
void stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int number) { stop_signal = number; };
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

demo_end end_of(const demo_failure& failure) {
  if (stop_signal != 0) return {128 + stop_signal, "gar-demo: stopped by a signal\n"};
  return {1, "gar-demo: " + failure.text + '\n'};
}

class run {
 public:
  run(const demo_options& options, std::optional<gard_watch>& gard, demo_report& report)
      : options_(options), gard_(gard), report_(report) {
    report_.options = options;
    for (std::string& plan : report_.options.plans) plan = bands::parse(plan)->label();
    report_.runs.resize(options.plans.size());
  }

  std::optional<demo_end> go() {
    if (auto end = set_plans()) return end;
    if (auto end = start_workers()) return end;
    const uint32_t rounds = std::min(options_.waits, rounds_max);
    uint32_t done = 0;
    for (uint32_t round = 0; round < rounds; ++round) {
      const uint32_t upto = static_cast<uint32_t>(uint64_t{options_.waits} * (round + 1) / rounds);
      if (auto end = run_round(round, done, upto - done)) return end;
      done = upto;
    }
    workers_.clear();
    return std::nullopt;
  }

 private:
  std::string client_name(size_t plan) const {
    return fmt::format("gar-demo-{}-{}", ::getpid(), plan + 1);
  }

  std::optional<demo_end> set_plans() {
    if (!gard_) return std::nullopt;
    std::vector<gard_watch::named_plan> plans;
    for (size_t i = 0; i < options_.plans.size(); ++i) {
      plans.push_back({client_name(i), options_.plans[i]});
    }
    if (auto failed = gard_->set(plans)) return demo_end{failed->exit_status, failed->text};
    return std::nullopt;
  }

  std::optional<demo_end> start_workers() {
    worker_options wanted{options_, std::nullopt, {}};
    if (gard_) wanted.socket = gard_->clients_path();
    for (size_t i = 0; i < options_.plans.size(); ++i)
      wanted.client_names.push_back(client_name(i));
    // Never moved while forking: a child closes the pipes of those before it.
    workers_.reserve(options_.processes);
    for (uint32_t i = 0; i < options_.processes; ++i) {
      auto started = worker_process::start(wanted, workers_);
      if (!started) return end_of(started.error());
      workers_.push_back(std::move(*started));
    }
    for (worker_process& each : workers_) {
      const auto name = each.await_ready();
      if (!name) return end_of(name.error());
      report_.device_name = *name;
    }
    return std::nullopt;
  }

  std::optional<demo_end> run_round(uint32_t round, uint32_t first, uint32_t waits) {
    const size_t turns = options_.plans.size() + 1;  // the last one spins
    for (size_t i = 0; i < turns; ++i) {
      const size_t turn = (i + round) % turns;
      const bool spins = turn == options_.plans.size();
      run_sum& sum = spins ? report_.spin : report_.runs[turn];
      if (auto end = run_slice_of(spins ? spinning : static_cast<int>(turn), sum, first, waits)) {
        return end;
      }
    }
    return std::nullopt;
  }

  std::optional<demo_end> run_slice_of(int plan, run_sum& sum, uint64_t first, uint32_t waits) {
    const auto cpu_before = gard_ ? gard_->cpu_ms() : std::nullopt;
    for (worker_process& each : workers_) each.tell(plan, first, waits);
    tally slice;
    for (worker_process& each : workers_) {
      const auto counts = each.receive();
      if (!counts) return end_of(counts.error());
      slice.add(*counts);
    }
    sum.add(slice);
    const auto cpu_after = gard_ ? gard_->cpu_ms() : std::nullopt;
    if (cpu_before && cpu_after) sum.cpu_ms_gard += std::max(0.0, *cpu_after - *cpu_before);
    return std::nullopt;
  }

  const demo_options& options_;
  std::optional<gard_watch>& gard_;
  demo_report& report_;
  std::vector<worker_process> workers_;
};

}  // namespace

std::optional<demo_end> run_demo(const demo_options& options, demo_report& report) {
  stop_on_signals();
  std::optional<gard_watch> gard;
  if (options.in_process) {
    report.word_wait = name_of(probe_word_wait().report.kind);
  } else {
    auto found = gard_watch::find({.control = options.control, .socket = options.socket});
    if (auto* none = std::get_if<no_gard>(&found)) return demo_end{none->exit_status, none->text};
    gard.emplace(std::move(std::get<gard_watch>(found)));
    report.word_wait = gard->word_wait();
  }
  return run(options, gard, report).go();
}

}  // namespace gar
