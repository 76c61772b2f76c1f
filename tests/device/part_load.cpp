// What waiting costs: slices of waits under one way at a time, as the script tells.
//
// Model: a slice runs STREAMS threads; each submits a piece of work, waits for it, WAITS times.
//
//     CPU of a slice = all of this process's - what those threads used outside their waits
//
// so that the library's and the driver's own threads count too. gard's CPU is added by the script.
#include <pthread.h>
#include <time.h>

#include <atomic>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>
#include <mutex>
#include <sstream>
#include <thread>

#include "lib/linux/steady_clock.hpp"
#include "tests/device/part.hpp"
#include "tests/device/way.hpp"

namespace gar::device_check {
namespace {

namespace json = boost::json;

struct slice {
  size_t way = 0;
  size_t streams = 0;
  uint64_t work_us = 0;
  uint64_t waits = 0;
};

struct lane_costs {
  uint64_t outside_cpu_ns = 0;
  std::string failure;
};

uint64_t process_cpu_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

lane_costs run_lane(way& how, size_t lane, uint64_t rounds, uint64_t waits) {
  lane_costs costs;
  try {
    how.enter();
    uint64_t inside_ns = 0;
    for (uint64_t i = 0; i < waits; ++i) {
      how.submit(lane, rounds);
      const duration before = steady_clock::thread_cpu_time();
      how.wait(lane);
      inside_ns += (steady_clock::thread_cpu_time() - before).ns;
    }
    costs.outside_cpu_ns = steady_clock::thread_cpu_time().ns - inside_ns;
  } catch (const broken& e) {
    costs.failure = e.what();
  }
  return costs;
}

json::object counts_json(const wait_counts& before, const wait_counts& after) {
  json::object kinds;
  const char* const names[] = {"blocked", "immediate", "late", "parked"};
  for (size_t i = 0; i < std::size(names); ++i) {
    kinds[names[i]] = after.kinds[i] - before.kinds[i];
  }
  return {{"kinds", std::move(kinds)},
          {"delegated", after.delegated - before.delegated},
          {"early", after.early - before.early}};
}

json::object run_slice(way& how, const slice& s, uint64_t rounds) {
  const wait_counts counted = how.counts();
  const steady_clock clock;
  const uint64_t cpu_before_ns = process_cpu_ns();
  const instant start = clock.now();
  std::vector<lane_costs> costs(s.streams);
  std::vector<std::thread> threads;
  for (size_t lane = 0; lane < s.streams; ++lane) {
    threads.emplace_back([&, lane] { costs[lane] = run_lane(how, lane, rounds, s.waits); });
  }
  for (std::thread& t : threads) t.join();
  const instant end = clock.now();
  uint64_t cpu_ns = process_cpu_ns() - cpu_before_ns;
  std::string failure;
  for (const lane_costs& one : costs) {
    cpu_ns -= std::min(cpu_ns, one.outside_cpu_ns);
    if (failure.empty()) failure = one.failure;
  }
  json::object answer = counts_json(counted, how.counts());
  answer["waits"] = s.streams * s.waits;
  answer["started_ns"] = start.ns;
  answer["ended_ns"] = end.ns;
  answer["cpu_ns"] = cpu_ns;
  answer["failure"] = failure;
  return answer;
}

void say(const json::object& line) {
  std::cout << json::serialize(line) << std::endl;
}

}  // namespace

json::object run_load(const settings& with) {
  card on({with.kernels});
  const auto ways = make_all_ways(on, {with.socket, with.streams});
  json::array names;
  for (const auto& how : ways) names.push_back(json::string(how->name()));
  say({{"ways", std::move(names)}});
  for (std::string line; std::getline(std::cin, line);) {
    slice s;
    std::istringstream(line) >> s.way >> s.streams >> s.work_us >> s.waits;
    if (s.way >= ways.size() || s.streams > with.streams) throw broken("no such slice: " + line);
    say(run_slice(*ways[s.way], s, with.rounds(s.work_us)));
  }
  return {{"ended", true}};
}

}  // namespace gar::device_check
