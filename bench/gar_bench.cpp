// gar-bench: measures gard beside the bare mechanisms.
#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <string_view>

#include "bench/commands.hpp"
#include "bench/report.hpp"

namespace gar::bench {
namespace {

constexpr const char* footer =
    "\n"
    "A missed target is printed, never a failure: the exit status is 0 where every case ran.\n"
    "\n"
    "Other commands:\n"
    "  gar-bench ab --plan A --plan B      plans on the same work, in turns, with intervals\n"
    "  gar-bench scale --output DIR        a completion's cost over streams, waits and clients\n"
    "  gar-bench replay FILE --plan TEXT   what a plan does with a recorded series of waits";

// A case by its own name or by that of one of its targets.
const bench_case* find_case(std::string_view name) {
  for (const bench_case& c : all_cases()) {
    if (c.name == name) return &c;
    for (const target& t : c.targets) {
      if (t.name == name) return &c;
    }
  }
  return nullptr;
}

std::string case_names() {
  std::string names;
  for (const bench_case& c : all_cases()) names += fmt::format(" {}", c.name);
  return names;
}

int unknown(const std::string& name) {
  fmt::print(stderr, "gar-bench: no case is named '{}'; there are:{}\n", name, case_names());
  return 2;
}

// A party that died would leave the others waiting for ever. No case takes half as long.
constexpr unsigned case_seconds_max = 240;

void end_hanging_case(int) {
  constexpr std::string_view text = "gar-bench: a case does not end\n";
  if (::write(2, text.data(), text.size()) < 0) ::_exit(2);
  ::_exit(1);
}

int run_all(const std::vector<const bench_case*>& chosen, const options& o, bool as_json) {
  ::signal(SIGALRM, end_hanging_case);
  ::alarm(case_seconds_max);
  const machine m = this_machine();
  if (!as_json) print_machine(m);
  std::vector<case_run> runs;
  for (const bench_case* c : chosen) {
    // What a forked process inherits must not be printed twice.
    std::fflush(stdout);
    ::alarm(case_seconds_max);
    runs.push_back(run_case(*c, o));
    if (!as_json) print_case(runs.back());
  }
  if (as_json) fmt::print("{}\n", boost::json::serialize(json_of(m, o, runs)));
  return 0;
}

}  // namespace

int run_cases(int count, const char* const* arguments) {
  CLI::App app("Measures gard beside the bare mechanisms, interleaved in one run.", "gar-bench");
  app.footer(fmt::format("Cases:{}\n{}", case_names(), footer));
  app.set_version_flag("--version", "gar-bench " GAR_VERSION, "Print the version and exit");
  std::vector<std::string> names;
  bool as_json = false;
  options o;
  app.add_option("NAME", names, "Cases, or targets, to measure; all when none is named");
  app.add_flag("--json", as_json, "Print one JSON object");
  app.add_flag("--quick", o.quick, "Few rounds: shows that it runs, not what it costs");
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  std::vector<const bench_case*> chosen;
  for (const std::string& name : names) {
    const bench_case* found = find_case(name);
    if (!found) return unknown(name);
    if (std::find(chosen.begin(), chosen.end(), found) == chosen.end()) chosen.push_back(found);
  }
  if (names.empty()) {
    for (const bench_case& c : all_cases()) chosen.push_back(&c);
  }
  return run_all(chosen, o, as_json);
}

}  // namespace gar::bench

int main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "ab") return gar::bench::run_ab(argc - 1, argv + 1);
  if (first == "scale") return gar::bench::run_scale(argc - 1, argv + 1);
  if (first == "replay") return gar::bench::run_replay(argc - 1, argv + 1);
  return gar::bench::run_cases(argc, argv);
}
