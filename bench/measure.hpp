// Measuring: what every case of gar-bench shares, so that figures mean the same everywhere.
//
// A figure is a ratio against a floor measured in the same run, interleaved with it: these machines
// are shared, and a lone number says more about the neighbours than about us. Times are taken from
// CLOCK_MONOTONIC.
//
// Units: nanoseconds, but where a name says otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gar::bench {

uint64_t now_ns();

struct distribution {
  uint64_t p50_ns = 0;
  uint64_t p99_ns = 0;
  uint64_t p999_ns = 0;
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  // (p75 - p25) / p50: how much the run itself wavered.
  double spread = 0;
};

// Sorts `samples_ns`; all zero where there is none.
distribution distribution_of(std::vector<uint64_t>& samples_ns);

// A named ratio with a limit. `holds` is nullopt where this machine cannot tell, with why.
struct target {
  std::string name;
  double value = 0;
  double limit = 0;
  bool at_most = true;
  std::optional<bool> holds;
  std::string why;
};

struct row {
  std::string what;
  distribution times;
};

struct case_result {
  std::vector<row> rows;
  std::vector<target> targets;
  std::string note;
};

struct options {
  bool quick = false;
};

struct bench_case {
  std::string_view name;
  std::string_view question;
  std::string_view floor;
  std::string_view not_measured;
  case_result (*run)(const options&);
};

target make_target(std::string name, double value, double limit, bool at_most = true);

case_result run_scan(const options&);
case_result run_inline(const options&);
case_result run_sleep(const options&);

}  // namespace gar::bench
