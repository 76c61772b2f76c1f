// What the demo found, as JSON and as a table.
//
// Units: in the names. Threads: values. A ratio or percentile that cannot be known is null.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "clients/demo/demo_options.hpp"
#include "clients/demo/slice.hpp"
#include "clients/garctl/paint.hpp"

namespace gar {

// Slices of one kind, added up.
struct run_sum {
  tally counts;
  uint64_t elapsed_ns = 0;  // of the slices; the pauses between them do not count
  double cpu_ms_gard = 0;

  void add(const tally& slice);
};

struct demo_report {
  demo_options options;
  std::string device_name;
  std::string word_wait;
  std::vector<run_sum> runs;  // one for each plan, in the options' order
  run_sum spin;

  bool right() const;  // did every wait end right?
};

boost::json::object to_json(const demo_report& report);
std::string table_of(const demo_report& report, const paint& colours);

}  // namespace gar
