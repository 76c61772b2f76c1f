// gar-bench replay: its arguments, its file, its answer.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "bench/commands.hpp"
#include "bench/replay.hpp"

namespace gar::bench {
namespace {

result<std::string> read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  errno = 0;
  if (!file || !(text << file.rdbuf())) {
    // An empty file also leaves nothing to copy.
    if (file.is_open() && errno == 0) return std::string();
    const int number = errno;
    return error(errc::SystemCall, {"read " + path, std::strerror(number)}, number);
  }
  return text.str();
}

result<replay_sums> replay_file(const std::string& path, const std::string& plan_text) {
  const result<bands> plans = bands::parse(plan_text);
  if (!plans) return plans.error();
  const result<std::string> text = read_file(path);
  if (!text) return text.error();
  const result<std::vector<uint64_t>> series = parse_series(*text, path);
  if (!series) return series.error();
  return replay(*series, plans->select(0));
}

void print(const replay_sums& s, bool as_json) {
  const boost::json::object all{{"waits", s.waits},   {"exact", s.exact},
                                {"late", s.late},     {"slept_ns", s.slept_ns},
                                {"cpu_ns", s.cpu_ns}, {"delay_ns", s.delay_ns}};
  if (as_json) {
    fmt::print("{}\n", boost::json::serialize(all));
    return;
  }
  for (const auto& each : all) {
    fmt::print("{:<9} {}\n", std::string_view(each.key()), each.value().to_number<uint64_t>());
  }
}

}  // namespace

int run_replay(int count, const char* const* arguments) {
  CLI::App app("Plays a recorded series of waits through a plan, on virtual time.",
               "gar-bench replay");
  std::string file, plan_text;
  bool as_json = false;
  app.add_option("FILE", file, "One residual (completion - start of the wait) in ns to a line")
      ->required();
  app.add_option("--plan", plan_text, "The plan's text; of its bands, the one of 0 rows")
      ->required();
  app.add_flag("--json", as_json, "Print one JSON object");
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  const result<replay_sums> sums = replay_file(file, plan_text);
  if (!sums) {
    fmt::print(stderr, "gar-bench: {}\n", sums.error().headline());
    return 1;
  }
  print(*sums, as_json);
  return 0;
}

}  // namespace gar::bench
