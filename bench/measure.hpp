// Measuring: what every case of gar-bench shares, so that figures mean the same everywhere.
//
// A figure is a ratio against a floor measured in the same run, interleaved with it: these machines
// are shared, and a lone number says more about the neighbours than about us. Both sides take turns
// in short rounds (A B A B ...), each round has its own quantiles, and a ratio is the median of the
// rounds' ratios: a neighbour who wakes for a second spoils the rounds of that second and no more.
//
// Times are taken from CLOCK_MONOTONIC. Units: nanoseconds, but where a name says otherwise.
// Errors: a case has one way to fail, that it cannot be measured here. It throws `cannot_measure`,
// since nobody but the runner, which shows the reason beside each of the case's targets, could do
// anything about it.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/core/error.hpp"

namespace gar::bench {

uint64_t now_ns();

class cannot_measure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The value, or `cannot_measure` with what was tried and why it failed.
template <class T>
T must(result<T> r, std::string_view what) {
  if (!r) throw cannot_measure(std::string(what) + ": " + r.error().text());
  if constexpr (!std::is_void_v<T>) return std::move(*r);
}

struct distribution {
  uint64_t p50_ns = 0;
  uint64_t p99_ns = 0;
  uint64_t p999_ns = 0;
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  // (p75 - p25) / p50 of the rounds' medians: how much the run itself wavered.
  double spread = 0;
};

// The samples of one subject, round by round.
class samples {
 public:
  void begin_round() { rounds_.emplace_back(); }
  void add(uint64_t sample_ns) { rounds_.back().push_back(sample_ns); }
  const std::vector<std::vector<uint64_t>>& rounds() const { return rounds_; }
  // Of all rounds; all zero where there is none.
  distribution all() const;

 private:
  std::vector<std::vector<uint64_t>> rounds_;
};

// `q` from 0 to 1; 0 of nothing.
uint64_t quantile(std::vector<uint64_t> of, double q);
double median(std::vector<double> of);
// The median over the rounds of one's quantile over the other's; 0 where there is no round.
double ratio(const samples& of, const samples& over, double q);
// The median over the rounds of one's median less the other's.
double difference_ns(const samples& of, const samples& less);

struct row {
  std::string what;
  distribution times;
};

// What is no time of a single operation.
struct figure {
  std::string what;
  double value = 0;
  std::string unit;
};

// The value of a target. Without `value` or with `why`, this machine cannot tell whether it holds.
struct finding {
  std::string target;
  std::optional<double> value;
  std::string why;
};

struct case_result {
  std::vector<row> rows;
  std::vector<figure> figures;
  std::vector<finding> findings;
  std::string note;
};

struct options {
  bool quick = false;
};

struct target {
  std::string_view name;
  double limit = 0;
  bool at_most = true;
};

struct bench_case {
  std::string_view name;
  std::string_view question;
  std::string_view floor;
  std::string_view not_measured;
  std::vector<target> targets;
  case_result (*run)(const options&);
};

// Every case, in the order of a run.
const std::vector<bench_case>& all_cases();

// One per file, named after its question.
case_result run_blocked_wake(const options&);
case_result run_pipe_wake(const options&);
case_result run_socket_wake(const options&);
case_result run_looking_wake(const options&);
case_result run_callback(const options&);
case_result run_inline(const options&);
case_result run_request(const options&);
case_result run_cpu_of_one(const options&);
case_result run_cpu_of_many(const options&);
case_result run_throughput(const options&);
case_result run_open_streams(const options&);
case_result run_scan(const options&);
case_result run_idle(const options&);
case_result run_footprint(const options&);
case_result run_start(const options&);
case_result run_sleep(const options&);
case_result run_syscalls(const options&);
case_result run_traced_wait(const options&);
case_result run_ways(const options&);

}  // namespace gar::bench
