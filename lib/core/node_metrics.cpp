#include "lib/core/node_metrics.hpp"

#include <array>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace gar {
namespace {

using enum metric_type;

constexpr std::array kinds{wait_kind::blocked, wait_kind::immediate, wait_kind::late,
                           wait_kind::parked};

constexpr duration ms(uint64_t count) {
  return from_ms(count);
}

class page {
 public:
  explicit page(metrics_dialect as) : text_(as) {}

  void add(std::string_view name, metric_type type, std::string_view help, uint64_t value) {
    text_.family(name, type, {}, help);
    text_.sample({}, value);
  }
  void add(std::string_view name, metric_type type, std::string_view help, duration value) {
    text_.family(name, type, "seconds", help);
    text_.sample({}, value);
  }

  void what_runs(const status_snapshot& s) {
    text_.family("gard_build", info, {}, "The version of gard that runs.");
    text_.sample({{"version", s.version}}, 1);
    add("gard_uptime_seconds", gauge, "Time since gard was started.", ms(s.uptime_ms));
    text_.family("gard_executor", info, {},
                 "The executor that was asked for and the one that runs.");
    text_.sample({{"requested", s.executor.requested},
                  {"running", s.executor.running},
                  {"strictness", s.executor.strictness}},
                 1);
    text_.family("gard_word_wait", info, {}, "How the executor parks on words.");
    text_.sample({{"kind", s.word_wait.kind}, {"hardware", s.word_wait.hardware ? "yes" : "no"}},
                 1);
    text_.family("gard_plan", info, {},
                 "The default plan that was asked for and the one that runs.");
    text_.sample({{"requested", s.plan.requested}, {"running", s.plan.running}}, 1);
    add("gard_plan_generation", gauge, "Rises with each change of the plans.", s.plan.generation);
    text_.family("gard_capability", gauge, {}, "1 where this host can do what is named, else 0.");
    for (const capability_snapshot& c : s.capabilities) {
      text_.sample({{"capability", c.name}}, c.available ? 1 : 0);
    }
    warnings(s);
  }

  void load(const status_snapshot& s) {
    add("gard_clients", gauge, "Clients that are connected.", s.clients);
    add("gard_streams", gauge, "Streams that are open.", s.streams);
    add("gard_pending_waits", gauge, "Waits that gard has not ended yet.", s.waits.pending);
    add("gard_oldest_pending_seconds", gauge, "Age of the oldest wait that is pending, or 0.",
        ms(s.waits.oldest_pending_ms));
  }

  void ends(const status_snapshot& s) {
    text_.family("gard_waits", counter, {}, "Waits that succeeded, by the way they ended.");
    text_.sample({{"kind", "blocked"}}, s.kinds.blocked);
    text_.sample({{"kind", "immediate"}}, s.kinds.immediate);
    text_.sample({{"kind", "late"}}, s.kinds.late);
    text_.sample({{"kind", "parked"}}, s.kinds.parked);
    text_.family("gard_waits_unfinished", counter, {}, "Waits that ended without success.");
    text_.sample({{"why", "failed"}}, s.waits.failed);
    text_.sample({{"why", "cancelled"}}, s.waits.cancelled);
    text_.sample({{"why", "timed_out"}}, s.waits.timed_out);
    text_.sample({{"why", "owner_gone"}}, s.waits.owner_gone);
    add("gard_waits_refused", counter, "Waits that a limit sent back to their owners.",
        s.waits.refused);
    add("gard_waited_seconds", counter,
        "Time of successful waits that did not poll: what spinning would have burned.",
        duration{s.waits.waited_ns});
    add("gard_early_words", counter, "Words that came before the device said done.",
        s.waits.early_word);
    add("gard_lost_stores", counter,
        "Waits that their owner's answer ended while the word had not come.", s.waits.lost_store);
  }

  void events(const node_figures& figures) {
    text_.family("gard_events", counter, {}, "What happened, as `garctl watch` shows it.");
    for (size_t i = 0; i < event_kinds; ++i) {
      text_.sample({{"event", name_of(static_cast<event_kind>(i))}}, figures.events[i]);
    }
  }

  void durations(const node_figures& figures) {
    const wait_statistics& waits = figures.waits;
    text_.family("gard_wait_duration_seconds", histogram, "seconds",
                 "How long successful waits took, by the way they ended.");
    for (const wait_kind kind : kinds) {
      text_.sample({{"kind", name_of(kind)}}, waits.of_kind(kind));
    }
    text_.family("gard_notify_delay_seconds", histogram, "seconds",
                 "From the look that saw a word to the wake of its client, one of 16 looks.");
    text_.sample({}, figures.told);
  }

  void plans(const wait_statistics& waits) {
    const auto family = [&](std::string_view name, std::string_view unit, std::string_view help,
                            auto value) {
      text_.family(name, counter, unit, help);
      for (const plan_statistics& each : waits.plans()) {
        text_.sample({{"plan", each.how.label()}}, value(each));
      }
      text_.sample({{"plan", "other"}}, value(waits.other_plans()));
    };
    using plan = const plan_statistics&;
    family("gard_plan_waits", {}, "Waits that succeeded under each plan.",
           [](plan p) { return p.waits.count(); });
    family("gard_plan_wait_seconds", "seconds", "Time of these waits: what spinning would burn.",
           [](plan p) { return duration{p.waits.sum_ns}; });
    family("gard_plan_slept_seconds", "seconds", "Of it, in predicted sleeps.",
           [](plan p) { return duration{p.slept_ns}; });
    family("gard_plan_parks", {}, "Parks of these waits.", [](plan p) { return p.parks; });
    family("gard_plan_backstop_queries", {}, "Times their owners were asked.",
           [](plan p) { return p.backstop_queries; });
  }

  void executor(const status_snapshot& s) {
    const reactor_counts& r = s.reactor;
    add("gard_reactor_polls", counter, "Times a wait was resumed.", r.polls);
    add("gard_reactor_woken", counter, "Times a wait became ready.", r.woken);
    add("gard_reactor_slept", counter, "Times the executor slept to a deadline.", r.slept);
    add("gard_reactor_parked", counter, "Times the executor parked on words.", r.parked);
    add("gard_reactor_idle_seconds", counter, "Time the executor slept or parked.",
        duration{r.idle_ns});
    add("gard_backstop_probes", counter, "Questions to owners whether their work is done.",
        r.backstop_probes);
    add("gard_margin_floor_seconds", gauge, "How far this host's sleeps overshoot.",
        from_us(s.margin_floor_us));
    add("gard_cpus_held", gauge, "1 while the CPUs are held out of deep sleep, else 0.",
        s.latency.cpu_dma_latency.held ? 1 : 0);
    add("gard_cpus_held_changes", counter, "Times that changed.",
        s.latency.cpu_dma_latency.changes);
  }

  void process(const status_snapshot& s) {
    add("gard_cpu_seconds", counter, "CPU time of gard.", ms(s.process_cpu_ms));
    text_.family("gard_resident_memory_bytes", gauge, "bytes", "Memory of gard that is resident.");
    text_.sample({}, s.process_rss_kib * 1024);
  }

  std::string take() { return text_.take(); }

 private:
  void warnings(const status_snapshot& s) {
    std::map<std::string_view, uint64_t> by_name;
    const auto count = [&](const error& w) { ++by_name[w.name()]; };
    if (s.executor.warning) count(*s.executor.warning);
    for (const error& w : s.plan.warnings) count(w);
    for (const error& w : s.latency.thread.warnings) count(w);
    text_.family("gard_warnings", gauge, {}, "Warnings in force: what runs otherwise than asked.");
    uint64_t all = 0;
    for (const auto& [name, warned] : by_name) {
      text_.sample({{"name", name}}, warned);
      all += warned;
    }
    if (all == 0) text_.sample({{"name", "none"}}, 0);
  }

  metrics_text text_;
};

}  // namespace

std::string node_metrics(const status_snapshot& status, const node_figures& figures,
                         metrics_dialect as) {
  page all(as);
  all.what_runs(status);
  all.load(status);
  all.ends(status);
  all.durations(figures);
  all.plans(figures.waits);
  all.events(figures);
  all.executor(status);
  all.process(status);
  return all.take();
}

}  // namespace gar
