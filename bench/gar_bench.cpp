// gar-bench: runs the cases named, or all, and prints a table or JSON.
#include <fmt/core.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fstream>

#include "bench/measure.hpp"
#include "gar_commit.h"

namespace gar::bench {
namespace {

constexpr bench_case cases[] = {
    {"scan", "what does one look of a reactor cost per armed word?",
     "a plain loop of acquire loads over the same words", "waking what was found", run_scan},
    {"inline", "how soon after a store does an inline wait return?", "a bare spinning reader",
     "sleeping, gard, a device's query", run_inline},
    {"sleep", "how far does a timed sleep overshoot?", "none", "timerfd and io_uring", run_sleep},
};

const bench_case* find_case(std::string_view name) {
  for (const bench_case& c : cases) {
    if (c.name == name) return &c;
  }
  return nullptr;
}

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string kernel_release() {
  utsname name{};
  return uname(&name) == 0 ? name.release : "unknown";
}

std::string verdict_of(const target& t) {
  if (!t.holds) return "unknown: " + t.why;
  return *t.holds ? "holds" : "missed";
}

void print_case(const bench_case& c, const case_result& r) {
  fmt::print("\n{}: {}\n  floor: {}; not measured: {}\n", c.name, c.question, c.floor,
             c.not_measured);
  fmt::print("  {:<32} {:>10} {:>10} {:>10} {:>10} {:>7}\n", "ns", "min", "p50", "p99", "p99.9",
             "spread");
  for (const row& each : r.rows) {
    fmt::print("  {:<32} {:>10} {:>10} {:>10} {:>10} {:>7.2f}\n", each.what, each.times.min_ns,
               each.times.p50_ns, each.times.p99_ns, each.times.p999_ns, each.times.spread);
  }
  for (const target& t : r.targets) {
    fmt::print("  target {}: {:.3f}, at {} {:g}: {}\n", t.name, t.value,
               t.at_most ? "most" : "least", t.limit, verdict_of(t));
  }
  if (!r.note.empty()) fmt::print("  note: {}\n", r.note);
}

boost::json::object json_of(const bench_case& c, const case_result& r) {
  boost::json::array rows;
  for (const row& each : r.rows) {
    rows.push_back({{"what", each.what},
                    {"min_ns", each.times.min_ns},
                    {"p50_ns", each.times.p50_ns},
                    {"p99_ns", each.times.p99_ns},
                    {"p999_ns", each.times.p999_ns},
                    {"max_ns", each.times.max_ns},
                    {"spread", each.times.spread}});
  }
  return {{"name", c.name}, {"question", c.question}, {"rows", rows}, {"note", r.note}};
}

void append_targets(boost::json::array& into, const case_result& r) {
  for (const target& t : r.targets) {
    boost::json::object one{{"name", t.name}, {"limit", t.limit}};
    one["value"] = t.holds ? boost::json::value(t.value) : boost::json::value();
    one["holds"] = t.holds ? boost::json::value(*t.holds) : boost::json::value();
    if (!t.holds) one["why"] = t.why;
    into.push_back(std::move(one));
  }
}

int run(const std::vector<std::string>& names, const options& o, bool json) {
  std::vector<const bench_case*> chosen;
  for (const std::string& name : names) {
    const bench_case* found = find_case(name);
    if (!found) {
      std::string known;
      for (const bench_case& c : cases) known += fmt::format(" {}", c.name);
      fmt::print(stderr, "gar-bench: no case is named '{}'; there are:{}\n", name, known);
      return 2;
    }
    chosen.push_back(found);
  }
  if (names.empty()) {
    for (const bench_case& c : cases) chosen.push_back(&c);
  }
  const std::string cpu = cpu_model();
  const std::string kernel = kernel_release();
  if (!json) {
    fmt::print("gar-bench: {}, {} cores, Linux {}, commit {}\n", cpu, sysconf(_SC_NPROCESSORS_ONLN),
               kernel, GAR_COMMIT);
  }
  boost::json::array shown, targets;
  for (const bench_case* c : chosen) {
    const case_result r = c->run(o);
    if (json) {
      shown.push_back(json_of(*c, r));
      append_targets(targets, r);
    } else {
      print_case(*c, r);
    }
  }
  if (json) {
    const boost::json::object all{{"cpu", cpu},       {"kernel", kernel}, {"commit", GAR_COMMIT},
                                  {"quick", o.quick}, {"cases", shown},   {"targets", targets}};
    fmt::print("{}\n", boost::json::serialize(all));
  }
  return 0;
}

}  // namespace
}  // namespace gar::bench

int main(int argc, char** argv) {
  CLI::App app("Measures gard beside the bare mechanisms, interleaved in one run.", "gar-bench");
  std::vector<std::string> names;
  bool json = false;
  gar::bench::options o;
  app.add_option("NAME", names, "the cases to run; all when none is named");
  app.add_flag("--json", json, "one JSON object on standard output");
  app.add_flag("--quick", o.quick, "few rounds: shows that it runs, not what it costs");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  return gar::bench::run(names, o, json);
}
