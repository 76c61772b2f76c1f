// gar-sim: runs seeds, and says which failed, how, and by which command it is seen again.
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>

#include "lib/core/planted.hpp"
#include "tests/sim/statics.hpp"
#include "tests/sim/totals.hpp"
#include "tests/sim/world.hpp"

namespace {

using namespace gar::sim;

struct command {
  uint64_t from = 1;
  uint64_t to = UINT64_MAX;
  double seconds = 0;  // 0: no bound
  unsigned jobs = 1;
  bool trace = false;
  bool twice = false;
  bool stop_at_first = false;
  std::string bug;
};

using clock = std::chrono::steady_clock;

double since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

std::string replay(const command& c, uint64_t seed) {
  const std::string bug = c.bug.empty() ? "" : " --bug " + c.bug;
  return fmt::format("./dev sim{} --seed {} --trace", bug, seed);
}

run_result run_one(const command& c, uint64_t seed, bool first_failure) {
  world w(seed, c.trace);
  run_result r = w.run();
  if (r.failure) {
    if (first_failure && !c.trace) w.log().print_kept(stdout);
    fmt::print("seed {} failed after {:.1f} us: {}: {}\n  again: {}\n", seed,
               static_cast<double>(r.virtual_ns) / 1000.0, r.failure->kind, r.failure->text,
               replay(c, seed));
    std::fflush(stdout);
  }
  return r;
}

// Every `jobs`th seed, from the `job`th on.
totals run_job(const command& c, unsigned job) {
  totals t;
  const clock::time_point start = clock::now();
  for (uint64_t seed = c.from + job; seed <= c.to && seed >= c.from; seed += c.jobs) {
    const run_result r = run_one(c, seed, t.failures == 0);
    t.add(r);
    if (c.twice && run_one(c, seed, false).hash != r.hash) {
      ++t.failures;
      fmt::print("seed {} ran in two ways\n", seed);
    }
    if (c.stop_at_first && t.failures > 0) break;
    if (c.seconds > 0 && t.seeds % 16 == 0 && since(start) >= c.seconds) break;
  }
  return t;
}

// Each job in a process of its own: a simulated machine has one real thread.
totals run_jobs(const command& c) {
  if (c.jobs == 1) return run_job(c, 0);
  totals all;
  std::vector<int> results;
  std::fflush(stdout);
  for (unsigned job = 0; job < c.jobs; ++job) {
    int ends[2];
    if (::pipe(ends) != 0) std::perror("pipe"), std::exit(1);
    if (::fork() == 0) {
      const totals t = run_job(c, job);
      std::fflush(stdout);
      const bool told = ::write(ends[1], &t, sizeof(t)) == static_cast<ssize_t>(sizeof(t));
      ::_exit(told ? 0 : 1);
    }
    ::close(ends[1]);
    results.push_back(ends[0]);
  }
  for (const int from : results) {
    totals t;
    // A job that died says nothing.
    if (::read(from, &t, sizeof(t)) == static_cast<ssize_t>(sizeof(t))) {
      all.add(t);
    } else {
      ++all.failures;
      fmt::print("a job died\n");
    }
    ::close(from);
    ::wait(nullptr);
  }
  return all;
}

bool read_range(const std::string& text, command& c) {
  const size_t dots = text.find("..");
  if (dots == std::string::npos) return false;
  try {
    c.from = std::stoull(text.substr(0, dots));
    c.to = std::stoull(text.substr(dots + 2));
  } catch (const std::exception&) {
    return false;
  }
  return c.from <= c.to;
}

bool choose_bug(const std::string& name) {
#if GAR_PLANTED_BUGS
  for (const gar::planted_bug& b : gar::planted_bugs) {
    if (b.name == name) {
      gar::planted_now = b.which;
      return true;
    }
  }
#endif
  (void)name;
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  command c;
  std::string range;
  std::string bound;
  std::optional<uint64_t> one;
  bool list = false;
  CLI::App app("Runs gard and its clients on virtual time, one run a seed.", "gar-sim");
  app.add_option("--seeds", range, "the seeds to run: A..B");
  app.add_option("--for", bound, "run seeds for so long: 30s");
  app.add_option("--seed", one, "run this seed alone");
  app.add_option("--jobs", c.jobs, "processes to run in")->check(CLI::Range(1, 64));
  app.add_flag("--trace", c.trace, "print every line of the run");
  app.add_flag("--twice", c.twice, "run each seed twice and compare the hashes of their traces");
  app.add_flag("--stop-at-first", c.stop_at_first, "end with the first seed that fails");
  app.add_option("--bug", c.bug, "with a planted bug (a build with GAR_PLANTED_BUGS)");
  app.add_flag("--list-bugs", list, "the planted bugs, name and mistake");
  CLI11_PARSE(app, argc, argv);
  if (list) {
    for (const gar::planted_bug& b : gar::planted_bugs) fmt::print("{}\t{}\n", b.name, b.what);
    return 0;
  }
  if (one) c.from = c.to = *one;
  if (!range.empty() && !read_range(range, c)) {
    fmt::print(stderr, "gar-sim: --seeds {}: expected A..B\n", range);
    return 2;
  }
  if (!bound.empty()) {
    c.seconds = std::strtod(bound.c_str(), nullptr);
    if (bound.back() != 's' || c.seconds <= 0) {
      fmt::print(stderr, "gar-sim: --for {}: expected seconds, as in 30s\n", bound);
      return 2;
    }
  }
  if (!one && range.empty() && bound.empty()) c.to = 1000;
  if (!c.bug.empty() && !choose_bug(c.bug)) {
    fmt::print(stderr, "gar-sim: no bug '{}' is planted in this build\n", c.bug);
    return 2;
  }
  make_statics();
  const clock::time_point start = clock::now();
  const totals t = run_jobs(c);
  t.print(since(start));
  return t.failures == 0 ? 0 : 1;
}
