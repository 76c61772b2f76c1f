// The demo's run, from the parent's side: start the workers, let the plans' slices take turns, add
// up.
//
//     set plans -> fork workers -> ready -> rounds of slices -> workers end -> unset plans
//
// A round gives each plan and the spinning one slice, and each round begins with another of them,
// so that none always runs first. All workers run a slice at the same time.
//
// Threads: one, and it forks: called before any other thread exists. Blocking: until the end, or a
// signal. Errors: as `demo_end`, with the sentence to print and the exit status.
#pragma once

#include <optional>
#include <string>

#include "clients/demo/demo_options.hpp"
#include "clients/demo/demo_report.hpp"

namespace gar {

struct demo_end {
  int exit_status = 1;
  std::string text;
};

// Fills `report`, or says why there is none.
std::optional<demo_end> run_demo(const demo_options& options, demo_report& report);

}  // namespace gar
