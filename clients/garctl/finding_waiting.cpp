// Rules on how this host waits: for a word, for a time, for a CPU.
#include <fmt/core.h>

#include <algorithm>
#include <boost/json/array.hpp>

#include "clients/garctl/answer_fields.hpp"
#include "clients/garctl/findings.hpp"
#include "clients/garctl/readable.hpp"
#include "clients/garctl/remedy.hpp"
#include "lib/linux/timer_slack.hpp"

namespace gar {
namespace {

namespace json = boost::json;
using enum verdict;

// What is less is the noise of a short trial.
constexpr duration saved_least = from_us(5);
constexpr uint64_t saved_percent_least = 20;
constexpr uint64_t work_slower_percent_least = 25;
// CPUs that others keep busy do not sleep, nor does a thread on them run at once.
constexpr uint64_t load_percent_most = 50;
constexpr duration clock_reading_most{150};  // the vDSO takes 20 to 50 ns, a system call more
constexpr duration in_line_most = from_us(50);
constexpr uint64_t runs_least = 100;

std::string shown(duration d) {
  return readable_ns(d.ns);
}

bool is_busy(const node_seen& seen) {
  return seen.files.load_percent.value_or(0) > load_percent_most;
}

bool is_much_less(duration held, duration as_is) {
  const duration saved = as_is - held;
  return saved >= saved_least && saved.ns * 100 >= as_is.ns * saved_percent_least;
}

// ---- words ------------------------------------------------------------------------------------

// nullopt: gard answered and did not say.
std::optional<word_wait_report> word_wait_of(const node_seen& seen) {
  if (!seen.gard.answered()) return seen.word_wait;
  const json::value& status = seen.gard.status;
  const auto kind = optional_text_field(status, "word_wait.kind");
  if (!kind) return std::nullopt;
  word_wait_report said{word_wait_kind::none, flag_field(status, "word_wait.hardware"),
                        text_field(status, "word_wait.why")};
  for (const auto each : {word_wait_kind::umwait, word_wait_kind::mwaitx, word_wait_kind::wfet,
                          word_wait_kind::wfe, word_wait_kind::software}) {
    if (name_of(each) == *kind) said.kind = each;
  }
  return said;
}

// What gard's process took of the CPU, for each wait that it ended.
void add_cpu_of_waits(const json::value& status, finding& to) {
  const auto cpu_ms = count_field(status, "process.cpu_ms");
  const auto ended = count_field(status, "waits.completed");
  if (!cpu_ms || !ended || *ended < judged_waits_least) return;
  const duration each = from_ms(*cpu_ms) / *ended;
  to.measured = fmt::format("gard took {} of CPU for each of {} waits", shown(each), *ended);
  to.figures = {{"gard_cpu_of_a_wait_ns", each.ns}, {"waits", *ended}};
}

finding judge_word_wait(const node_seen& seen) {
  const auto word = word_wait_of(seen);
  if (!word) return {.what = "gard does not say how it waits for a word"};
  finding found;
  add_cpu_of_waits(seen.gard.status, found);
  if (word->hardware) {
    found.is = good;
    found.what = fmt::format("the CPU waits, by {}: {}", name_of(word->kind), word->why);
    return found;
  }
  found.is = costs;
  if (word->kind == word_wait_kind::none) {
    found.what =
        "software_word_wait is off and the CPU has no other: flag plans poll, a core a wait";
    found.remedy = configure(seen.files, "executor", "software_word_wait", "true");
    return found;
  }
  found.what = fmt::format(
      "by looking, which costs CPU: {}. No command changes that; to a virtual machine its host may "
      "pass the instructions on",
      word->why);
  return found;
}

// The longest park of all bands; 0: none parks.
duration longest_park(const bands& plans) {
  duration longest;
  for (size_t i = 0; i < plans.count(); ++i) {
    if (plans.at(i).plan.park == park_kind::flag) {
      longest = std::max(longest, plans.at(i).plan.park_max);
    }
  }
  return longest;
}

finding judge_umwait_limit(const node_seen& seen) {
  const auto word = word_wait_of(seen);
  const auto plans = plan_of(seen);
  if (word && word->kind != word_wait_kind::umwait) {
    return {.is = good, .what = "umwait is not in use, so nothing limits it"};
  }
  const auto limit_ticks = seen.files.umwait_max_ticks;
  if (!word || !plans || !limit_ticks || seen.tsc_khz == 0) {
    return {.what = "the kernel's limit of one umwait, the TSC's rate or the plan cannot be read"};
  }
  if (*limit_ticks == 0) return {.is = good, .what = "the kernel limits no umwait"};
  const duration limit{*limit_ticks * 1'000'000 / seen.tsc_khz};
  const duration park = longest_park(*plans);
  finding found{.is = limit >= park ? good : costs,
                .what = fmt::format(
                    "the kernel lets one umwait last as long as the plan's parks, {}", shown(park)),
                .measured = fmt::format("{} ticks are {} at the {} MHz of this TSC", *limit_ticks,
                                        shown(limit), seen.tsc_khz / 1000),
                .figures = {{"umwait_limit_ns", limit.ns}, {"tsc_khz", seen.tsc_khz}}};
  if (found.is == good) return found;
  found.what = fmt::format("the kernel ends each umwait before the plan's park of {}: more looks",
                           shown(park));
  // The kernel takes multiples of four; a few ticks more than the park.
  const uint64_t ticks = (park.ns * seen.tsc_khz / 1'000'000 / 4 + 2) * 4;
  found.remedy =
      then_restart(seen.files, put_into(seen.files, std::to_string(ticks),
                                        "/sys/devices/system/cpu/umwait_control/max_time"));
  return found;
}

// ---- times ------------------------------------------------------------------------------------

// The least margin of all bands that predict.
std::optional<duration> least_margin(const bands& plans) {
  std::optional<duration> least;
  for (size_t i = 0; i < plans.count(); ++i) {
    const auto& predict = plans.at(i).plan.predict;
    if (predict && (!least || predict->margin < *least)) least = predict->margin;
  }
  return least;
}

finding judge_sleep_overshoot(const node_seen& seen) {
  const auto plans = plan_of(seen);
  const auto floor_us = count_field(seen.gard.status, "margin_floor_us");
  if (!plans || (seen.gard.answered() && !floor_us)) {
    return {.what = "gard does not say its plan, or how late its sleeps end"};
  }
  const duration now = seen.timing.sleep_late_exact;
  const duration late = floor_us ? from_us(*floor_us) : now;
  finding found{.measured = fmt::format("a sleep of 1 ms ends {} late", shown(now)),
                .figures = {{"sleep_late_ns", now.ns}}};
  if (floor_us) {
    found.measured += fmt::format("; gard measured {}", shown(late));
    found.figures.push_back({"margin_floor_ns", late.ns});
  }
  const auto margin = least_margin(*plans);
  if (!margin || late <= *margin) {
    found.is = good;
    found.what = margin ? fmt::format("sleeps end within the plan's margin of {}", shown(*margin))
                        : "the plan predicts nothing, so that no sleep matters";
    return found;
  }
  found.is = costs;
  found.what = fmt::format(
      "sleeps end later than the plan's margin of {}, so gard sleeps less: each "
      "predicted wait looks {} longer",
      shown(*margin), shown(late - *margin));
  const auto& held = seen.timing.sleep_late_held;
  if (!held || is_busy(seen)) return found;
  found.measured += fmt::format(", {} with CPUs kept awake", shown(*held));
  found.figures.push_back({"sleep_late_held_ns", held->ns});
  if (is_much_less(*held, now)) {
    found.remedy = configure_latency(seen.files, "cpu_dma_latency", "true");
  }
  return found;
}

finding judge_timer_slack(const node_seen& seen) {
  const host_timing& timing = seen.timing;
  finding found{
      .measured = fmt::format("a sleep of 1 ms ends {} late with {} of slack, {} with 1 ns",
                              shown(timing.sleep_late), shown(duration{timing.slack_ns}),
                              shown(timing.sleep_late_exact)),
      .figures = {{"sleep_late_own_slack_ns", timing.sleep_late.ns},
                  {"sleep_late_ns", timing.sleep_late_exact.ns}}};
  if (!seen.gard.answered()) {
    const capability_state& settable = seen.own[capability::timer_slack];
    found.is = settable.available ? good : costs;
    found.what = settable.available ? "threads may set theirs to 1 ns, as gard and garclient do"
                                    : "threads may not set theirs: " + settable.why;
    return found;
  }
  const auto slack_ns = count_field(seen.gard.status, "latency.thread.timer_slack_ns");
  if (!slack_ns) {
    found.what = "no thread of gard has said yet";
    return found;
  }
  found.is = *slack_ns <= timer_slack_ns_least ? good : costs;
  found.what = *slack_ns == 0
                   ? "gard's waiting thread is real-time, which has none"
                   : fmt::format("gard's waiting thread has {}", shown(duration{*slack_ns}));
  if (found.is == costs && seen.files.gard_process) {
    const std::string pid = count_text(seen.gard.status, "pid");
    found.remedy =
        as_root(seen.files, "sh -c 'for t in /proc/" + pid +
                                "/task/*; do echo 1 > /proc/${t##*/}/timerslack_ns; done'");
  }
  return found;
}

// ---- CPUs -------------------------------------------------------------------------------------

finding judge_cpu_sleep(const node_seen& seen) {
  const host_timing& timing = seen.timing;
  finding found{
      .measured = fmt::format("a sleeping thread runs {} after its wake", shown(timing.wake)),
      .figures = {{"wake_ns", timing.wake.ns}}};
  if (timing.wake_held) {
    found.measured += fmt::format(", {} where CPUs are kept awake", shown(*timing.wake_held));
    found.figures.push_back({"wake_held_ns", timing.wake_held->ns});
  }
  const json::value& status = seen.gard.status;
  const auto refused = optional_text_field(status, "latency.cpu_dma_latency.refused");
  if (refused) {
    found.is = broken;
    found.what = "gard was asked to keep CPUs awake while waits are due, and may not: " + *refused;
    const std::string allowed = allow_latency(seen.files);
    if (!allowed.empty()) found.remedy = then_restart(seen.files, allowed);
    return found;
  }
  if (flag_field(status, "latency.cpu_dma_latency.requested")) {
    found.is = good;
    found.what = "gard keeps CPUs awake while waits are due";
    return found;
  }
  if (!timing.wake_held) {
    found.what = "whether deep sleep costs here was not tried: " + timing.why_not_held;
    if (seen.files.uid != 0) found.remedy = "sudo garctl doctor";
    return found;
  }
  if (is_busy(seen)) {
    found.what = "whether deep sleep costs here shows only while the machine has less to do";
    return found;
  }
  const bool much = is_much_less(*timing.wake_held, timing.wake);
  found.is = much ? costs : good;
  found.what =
      much ? "CPUs sleep deeply between waits; keeping them awake while waits are due costs "
             "power and saves that"
           : "keeping CPUs out of deep sleep would gain little";
  if (much) found.remedy = configure_latency(seen.files, "cpu_dma_latency", "true");
  return found;
}

finding judge_governor(const node_seen& seen) {
  const host_timing& timing = seen.timing;
  const uint64_t warm_ns = std::max<uint64_t>(timing.work_warm.ns, 1);
  const bool slower =
      timing.work_after_sleep.ns * 100 >= warm_ns * (100 + work_slower_percent_least);
  std::string named;
  for (const std::string& each : seen.files.governors) {
    named += (named.empty() ? "" : ", ") + each;
  }
  finding found{.measured = fmt::format("work of {} takes {} just after a sleep",
                                        shown(timing.work_warm), shown(timing.work_after_sleep)),
                .figures = {{"work_warm_ns", timing.work_warm.ns},
                            {"work_after_sleep_ns", timing.work_after_sleep.ns}}};
  if (slower && is_busy(seen)) {
    found.what = "whether CPUs begin slowly shows only while the machine has less to do";
  } else if (named.empty()) {
    found.is = slower ? unknown : good;
    found.what = "this system does not set the CPUs' speed";
    if (slower) found.what += "; whoever does lets them slow down";
  } else if (named == "performance" || !slower) {
    found.is = good;
    found.what = "the governor is " + named;
  } else {
    found.is = costs;
    found.what = "the governor is " + named + ", and CPUs begin slowly after a sleep";
    found.remedy = put_into(seen.files, "performance",
                            "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor");
  }
  return found;
}

finding judge_clock(const node_seen& seen) {
  const duration reading = seen.timing.clock_reading;
  const std::string source =
      seen.files.clocksource.empty() ? "the clock's source is not known" : seen.files.clocksource;
  finding found{.is = reading < clock_reading_most ? good : costs,
                .what = source,
                .measured = fmt::format("a reading takes {}", shown(reading)),
                .figures = {{"clock_reading_ns", reading.ns}}};
  if (found.is == good) return found;
  found.what += ", which is slow to read, and every wait reads it";
  const auto& there = seen.files.clocksources;
  if (seen.files.clocksource != "tsc" &&
      std::find(there.begin(), there.end(), "tsc") != there.end()) {
    found.remedy = put_into(seen.files, "tsc",
                            "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  }
  return found;
}

finding judge_scheduling(const node_seen& seen) {
  if (!seen.gard.answered()) return without_gard();
  const json::value& status = seen.gard.status;
  const auto scheduling = optional_text_field(status, "latency.thread.scheduling");
  if (!scheduling) return {.what = "gard does not say how its thread is scheduled"};
  const json::value* thread = field_at(status, "latency.thread");
  for (const json::value& warning : list_field(*thread, "warnings")) {
    finding refused{.is = broken, .what = text_field(warning, "text")};
    const std::string allowed = allow_latency(seen.files);
    if (!allowed.empty()) refused.remedy = then_restart(seen.files, allowed);
    return refused;
  }
  finding found{.is = good, .what = "gard's waiting thread is scheduled as " + *scheduling};
  const auto& queued = seen.files.queued;
  if (!queued || queued->runs < runs_least) {
    if (*scheduling == "other") {
      found.is = unknown;
      found.what += "; how long it stands in line for a CPU is not known yet";
    }
    return found;
  }
  const duration each = queued->waited / queued->runs;
  found.measured = fmt::format("it stood in line for {} each of the {} times that it ran",
                               shown(each), queued->runs);
  found.figures = {{"in_line_ns", each.ns}, {"runs", queued->runs}};
  if (*scheduling == "other" && each >= in_line_most) {
    found.is = costs;
    found.remedy = configure_latency(seen.files, "scheduling", "\"fifo:10\"");
  }
  return found;
}

}  // namespace

std::vector<finding_rule> rules_of_waiting() {
  return {{"word-wait", judge_word_wait, {good, costs, unknown}},
          {"umwait-limit", judge_umwait_limit, {good, costs, unknown}},
          {"sleep-overshoot", judge_sleep_overshoot, {good, costs, unknown}},
          {"timer-slack", judge_timer_slack, {good, costs, unknown}},
          {"cpu-sleep", judge_cpu_sleep, {good, costs, broken, unknown}},
          {"governor", judge_governor, {good, costs, unknown}},
          {"clock", judge_clock, {good, costs}},
          {"scheduling", judge_scheduling, {good, costs, broken, unknown}}};
}

}  // namespace gar
