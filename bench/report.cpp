#include "bench/report.hpp"

#include <fmt/core.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>

#include "bench/private_gard.hpp"
#include "bench/processes.hpp"
#include "gar_commit.h"

namespace gar::bench {
namespace {

namespace json = boost::json;

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string kernel_release() {
  utsname name{};
  return ::uname(&name) == 0 ? name.release : "unknown";
}

finding finding_of(const case_run& run, const target& t) {
  if (!run.failure.empty()) return {std::string(t.name), std::nullopt, run.failure};
  for (const finding& f : run.result.findings) {
    if (f.target == t.name) return f;
  }
  return {std::string(t.name), std::nullopt, "the case does not measure it here"};
}

// nullopt: this machine cannot tell.
std::optional<bool> holds(const finding& f, const target& t) {
  if (!f.value || !f.why.empty()) return std::nullopt;
  return t.at_most ? *f.value <= t.limit : *f.value >= t.limit;
}

std::string verdict_of(const finding& f, const target& t) {
  const std::optional<bool> known = holds(f, t);
  if (!known) return "cannot tell here: " + f.why;
  return *known ? "holds" : "MISSED";
}

void print_target(const case_run& run, const target& t) {
  const finding f = finding_of(run, t);
  fmt::print("  target {:<24} {:>12}  at {} {:g}: {}\n", t.name,
             f.value ? fmt::format("{:.4g}", *f.value) : "-", t.at_most ? "most" : "least", t.limit,
             verdict_of(f, t));
}

void print_rows(const std::vector<row>& rows) {
  if (rows.empty()) return;
  fmt::print("  {:<36} {:>10} {:>10} {:>10} {:>10} {:>7}\n", "ns", "min", "p50", "p99", "p99.9",
             "spread");
  for (const row& each : rows) {
    fmt::print("  {:<36} {:>10} {:>10} {:>10} {:>10} {:>7.2f}\n", each.what, each.times.min_ns,
               each.times.p50_ns, each.times.p99_ns, each.times.p999_ns, each.times.spread);
  }
}

json::object json_of(const row& r) {
  return {{"what", r.what},           {"min_ns", r.times.min_ns},   {"p50_ns", r.times.p50_ns},
          {"p99_ns", r.times.p99_ns}, {"p999_ns", r.times.p999_ns}, {"max_ns", r.times.max_ns},
          {"spread", r.times.spread}};
}

json::object json_of(const case_run& run) {
  json::array rows, figures;
  for (const row& each : run.result.rows) rows.push_back(json_of(each));
  for (const figure& each : run.result.figures) {
    figures.push_back({{"what", each.what}, {"value", each.value}, {"unit", each.unit}});
  }
  const std::string note = run.failure.empty() ? run.result.note : run.failure;
  return {{"name", run.of->name},
          {"question", run.of->question},
          {"floor", run.of->floor},
          {"not_measured", run.of->not_measured},
          {"rows", rows},
          {"figures", figures},
          {"note", note}};
}

json::object json_of(const finding& f, const target& t) {
  const std::optional<bool> known = holds(f, t);
  json::object one{{"name", t.name}, {"limit", t.limit}, {"at_most", t.at_most}};
  one["value"] = f.value ? json::value(*f.value) : json::value();
  one["holds"] = known ? json::value(*known) : json::value();
  if (!known) one["why"] = f.why;
  return one;
}

}  // namespace

machine this_machine() {
  machine m;
  m.cpu = cpu_model();
  m.cores = machine_cores().count;
  m.kernel = kernel_release();
  m.commit = GAR_COMMIT;
  try {
    const private_gard gard({"", std::nullopt});
    const json::object status = gard.status();
    const json::object& wait = status.at("word_wait").as_object();
    m.word_wait = fmt::format("{} ({})", wait.at("kind").as_string().c_str(),
                              wait.at("hardware").as_bool() ? "hardware" : "no hardware");
    m.executor = status.at("executor").as_object().at("running").as_string().c_str();
  } catch (const std::exception& e) {
    m.word_wait = std::string("not known: ") + e.what();
    m.executor = "none";
  }
  return m;
}

case_run run_case(const bench_case& c, const options& o) {
  case_run run{&c, {}, {}};
  try {
    run.result = c.run(o);
  } catch (const std::exception& e) {
    run.failure = e.what();
  }
  return run;
}

void print_machine(const machine& m) {
  fmt::print("gar-bench: {}, {} cores, Linux {}, commit {}\n", m.cpu, m.cores, m.kernel, m.commit);
  fmt::print("each case starts a gard of its own with a private socket and configuration,\n");
  fmt::print(
      "as shipped, but for cases about latency, which let it look without a pause for 10 ms:\n");
  fmt::print("software_spin = \"10ms\", plan flag:park_us=100,backstop_us=1000000\n");
  fmt::print("word wait: {}; executor: {}\n", m.word_wait, m.executor);
}

void print_case(const case_run& run) {
  fmt::print("\n{}: {}\n  floor: {}; not measured: {}\n", run.of->name, run.of->question,
             run.of->floor, run.of->not_measured);
  print_rows(run.result.rows);
  for (const figure& f : run.result.figures) {
    fmt::print("  {:<36} {:>10.4g} {}\n", f.what, f.value, f.unit);
  }
  for (const target& t : run.of->targets) print_target(run, t);
  if (!run.result.note.empty()) fmt::print("  note: {}\n", run.result.note);
  if (!run.failure.empty()) fmt::print("  not measured: {}\n", run.failure);
}

json::object json_of(const machine& m, const options& o, const std::vector<case_run>& runs) {
  json::array cases, targets;
  for (const case_run& run : runs) {
    cases.push_back(json_of(run));
    for (const target& t : run.of->targets) targets.push_back(json_of(finding_of(run, t), t));
  }
  return {{"cpu", m.cpu},       {"cores", m.cores},         {"kernel", m.kernel},
          {"commit", m.commit}, {"word_wait", m.word_wait}, {"executor", m.executor},
          {"quick", o.quick},   {"cases", cases},           {"targets", targets}};
}

}  // namespace gar::bench
