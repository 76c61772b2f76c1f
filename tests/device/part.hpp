// The parts of the check that run in a process of their own, each answering one JSON object.
//
// The script `check` starts them, bounds them, and puts the answers together. `load` alone goes on:
// it answers one line for each line that it is told.
//
// Threads: one, at start. Blocking: as long as the work. Errors: broken.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/device/card.hpp"

namespace gar::device_check {

struct settings {
  std::string socket;          // gard's; empty: there is none
  bool kernels = true;         // false: memory fills, as where the driver refuses kernels
  uint64_t rounds_per_ms = 0;  // as the probe found
  uint64_t seconds = 10;       // to end after
  uint64_t work_us = 1000;     // how long a piece of work lasts
  uint64_t repeats = 100;      // at most
  size_t streams = 1;
  bool run_inline = false;

  uint64_t rounds(uint64_t us) const {
    const uint64_t exact = rounds_per_ms * us / 1000;
    return exact > 0 ? exact : 1;
  }
};

// What the card is, whether its stores work, and that gard changed nothing about its context.
boost::json::object run_probe(const settings& with);
// From the end of the work to the return of the wait, each way in turn.
boost::json::object run_delay(const settings& with);
// Reads "WAY STREAMS WORK_US WAITS" lines, each way being a number.
boost::json::object run_load(const settings& with);
// How a CPU waits for a word, and what a store from the card does to it.
boost::json::object run_word(const settings& with);

// What a fault does to a wait: {expected, saw, holds}.
boost::json::object run_fault_kernel(const settings& with);
boost::json::object run_fault_foreign(const settings& with);
boost::json::object run_fault_destroyed(const settings& with);
// Waits that are pending for `seconds`, for somebody to end this process.
boost::json::object run_pending(const settings& with);

}  // namespace gar::device_check
