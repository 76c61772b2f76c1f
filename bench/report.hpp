// The report of a run: the machine, each case's table, each target's verdict; for people or as
// JSON (proto/schemas/bench.schema.json).
//
// Threads: one. Blocking: asks a gard of its own which word wait runs.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>

#include "bench/measure.hpp"

namespace gar::bench {

struct machine {
  std::string cpu;
  unsigned cores = 0;
  std::string kernel;
  std::string commit;
  std::string word_wait;  // that a gard runs here, or why that is not known
  std::string executor;
};
machine this_machine();

// A case that ran, or the reason why it could not.
struct case_run {
  const bench_case* of;
  case_result result;
  std::string failure;
};
case_run run_case(const bench_case& c, const options& o);

void print_machine(const machine& m);
void print_case(const case_run& run);
boost::json::object json_of(const machine& m, const options& o, const std::vector<case_run>& runs);

}  // namespace gar::bench
