// gar-bench scale: what a completion costs over the number of open streams, of waits and of
// clients, as a table and a picture.
//
// Question: does a completion cost more where more is open, waited for, or connected?
// Floor: the first point of each line, with one of everything.
// Not measured: wakes, since the clients look; a producer apart: this process stores by itself.
#include <fmt/core.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>

#include "bench/commands.hpp"
#include "bench/crowd.hpp"
#include "bench/picture.hpp"
#include "bench/processes.hpp"
#include "bench/report.hpp"

namespace gar::bench {
namespace {

struct measured {
  size_t count = 0;
  distribution seen;
  distribution volley;
};

struct sweep {
  std::string what;
  std::vector<size_t> counts;
  std::vector<crowd::member> (*members)(size_t count);
  std::vector<measured> points = {};
};

// Up to 64 of them are waited for.
std::vector<crowd::member> with_streams(size_t count) {
  std::vector<crowd::member> members;
  for (size_t left = count; left > 0; left -= members.back().streams) {
    members.push_back({std::min(left, crowd::streams_each_max), 0});
  }
  members.front().waits = std::min<size_t>(count, 64);
  return members;
}

std::vector<crowd::member> with_waits(size_t count) {
  std::vector<crowd::member> members;
  for (size_t left = count; left > 0; left -= members.back().streams) {
    const size_t here = std::min(left, crowd::waits_each_max);
    members.push_back({here, here});
  }
  return members;
}

std::vector<crowd::member> with_clients(size_t count) {
  return std::vector<crowd::member>(count, crowd::member{1, 1});
}

std::vector<size_t> powers_to(size_t last, size_t by) {
  std::vector<size_t> all;
  for (size_t n = 1; n < last; n *= by) all.push_back(n);
  all.push_back(last);
  return all;
}

measured measure_point(size_t count, const std::vector<crowd::member>& members, bool quick) {
  crowd of(members);
  const on_core here(machine_cores().client);
  samples seen, volley;
  for (int round = 0; round < (quick ? 2 : 15); ++round) {
    of.begin_round();
    seen.begin_round();
    volley.begin_round();
    for (size_t i = 0; i < (quick ? 5 : 60); ++i) seen.add(of.seen_ns(i * 7 % of.waits()));
    for (int i = 0; i < (quick ? 1 : 5); ++i) volley.add(of.volley_ns());
    of.end_round();
  }
  return {count, seen.all(), volley.all()};
}

void print(std::ostream& to, const machine& m, const std::vector<sweep>& sweeps) {
  fmt::print(to, "{}, {} cores, Linux {}, commit {}, word wait {}, executor {}\n", m.cpu, m.cores,
             m.kernel, m.commit, m.word_wait, m.executor);
  fmt::print(to,
             "one: ns from a store to its completion in hand; volley: ns for each of all waits, "
             "stored at once\n");
  for (const sweep& s : sweeps) {
    fmt::print(to, "\n{:<16} {:>10} {:>10} {:>7} {:>12} {:>12} {:>7}\n", s.what, "one p50",
               "one p99", "spread", "volley p50", "volley p99", "spread");
    for (const measured& p : s.points) {
      fmt::print(to, "{:<16} {:>10} {:>10} {:>7.2f} {:>12} {:>12} {:>7.2f}\n", p.count,
                 p.seen.p50_ns, p.seen.p99_ns, p.seen.spread, p.volley.p50_ns, p.volley.p99_ns,
                 p.volley.spread);
    }
  }
}

std::string picture_of(const machine& m, const std::vector<sweep>& sweeps) {
  std::vector<picture_panel> panels;
  for (const sweep& s : sweeps) {
    picture_line one{"a single store, to its completion in hand", {}};
    picture_line volley{"each of a volley to all waits", {}};
    for (const measured& p : s.points) {
      const auto x = static_cast<double>(p.count);
      one.points.emplace_back(x, static_cast<double>(p.seen.p50_ns));
      volley.points.emplace_back(x, static_cast<double>(p.volley.p50_ns));
    }
    panels.push_back({"over " + s.what, s.what, {one, volley}});
  }
  return svg_of("A completion's cost, p50; " + m.cpu + ", " + m.word_wait + ", commit " + m.commit,
                "ns", panels);
}

int run(const std::string& output, bool quick) {
  std::vector<sweep> sweeps = {{"open streams", powers_to(quick ? 64 : 65536, 4), with_streams},
                               {"pending waits", powers_to(quick ? 64 : 4096, 4), with_waits},
                               {"clients", powers_to(quick ? 10 : 1000, 4), with_clients}};
  const machine m = this_machine();
  for (sweep& s : sweeps) {
    for (const size_t count : s.counts) {
      s.points.push_back(measure_point(count, s.members(count), quick));
    }
  }
  std::filesystem::create_directories(output);
  std::ofstream table(output + "/scale.txt");
  std::ofstream picture(output + "/scale.svg");
  print(table, m, sweeps);
  picture << picture_of(m, sweeps);
  if (!table.flush() || !picture.flush()) {
    fmt::print(stderr, "gar-bench: {} cannot be written\n", output);
    return 1;
  }
  print(std::cout, m, sweeps);
  return 0;
}

}  // namespace

int run_scale(int count, const char* const* arguments) {
  CLI::App app("What a completion costs over the number of open streams, waits and clients.",
               "gar-bench scale");
  std::string output;
  bool quick = false;
  app.add_option("--output", output, "The directory to write scale.txt and scale.svg into")
      ->required();
  app.add_flag("--quick", quick, "Few points and rounds: shows that it runs, not what it costs");
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    return run(output, quick);
  } catch (const std::exception& e) {
    fmt::print(stderr, "gar-bench: {}\n", e.what());
    return 1;
  }
}

}  // namespace gar::bench
