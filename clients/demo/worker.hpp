// A worker: one process of the demo, with a client and its lanes for each plan.
//
// Model: each plan has a client of its own, under a name of its own, so that its plan is in force
// from the first wait on, and what its waits teach the estimator stays apart. The worker opens all
// of them, says that it is ready, then runs the slices that it is told to:
//
//     parent -> worker   {"plan":1,"first":5,"waits":5}       -1: spinning
//     worker -> parent   {"ready":"llvmpipe ..."}  {"tally":{...}}
//     {"failure":{"code":11,"text":".."}}
//
// Spinning uses the first plan's client: the same streams, the same authority.
// Threads: a process of its own, forked before any thread was made. Errors: as a "failure" line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "clients/demo/demo_options.hpp"
#include "clients/demo/line_pipe.hpp"

namespace gar {

inline constexpr int spinning = -1;  // in place of a plan's index

struct worker_options {
  demo_options demo;
  std::optional<std::string> socket;      // where gard answered; none: in-process
  std::vector<std::string> client_names;  // one for each plan
};

// Returns the process's exit status.
int run_worker(const worker_options& options, line_pipe parent);

}  // namespace gar
