// A slice: some waits of each stream under one plan, measured; the demo's unit of interleaving.
//
// Running one plan to its end and then the next would compare two moments of a busy machine. So
// each plan's waits are cut into slices, and the slices take turns.
//
// Model: each stream is waited for by a thread of its own, all at the same time:
//
//     for each piece:  submit, [wait until done], WAIT, compare the truth
//
// Only WAIT is measured. A tally says what came of it, and can be added to another.
// Invariant: completed + failed == waits. Units: in the names.
// Threads: `run_slice` makes and joins its own. Blocking: until every wait ended; each has a
// timeout.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "clients/demo/demo_options.hpp"
#include "clients/demo/lane.hpp"
#include "lib/core/time.hpp"

namespace gar {

// How a wait of the slice waits.
enum class way_of_waiting : uint8_t { by_plan, spinning };

struct slice_options {
  way_of_waiting how = way_of_waiting::by_plan;
  bool scripted = false;  // pieces of work follow the script; else each is `work` long
  duration work;
  uint64_t first = 0;  // the number of the first piece
  uint32_t waits = 0;  // of each stream
};

struct tally {
  uint64_t waits = 0;
  uint64_t completed = 0;
  uint64_t failed = 0;
  uint64_t in_process = 0;
  uint64_t blocked = 0;
  uint64_t immediate = 0;
  uint64_t late = 0;
  uint64_t parked = 0;
  uint64_t cpu_ns = 0;      // of the waiting threads and the library's own
  uint64_t started_ns = 0;  // of CLOCK_MONOTONIC; 0: nothing ran
  uint64_t ended_ns = 0;
  std::vector<uint64_t>
      wake_ns;          // from the store to the wait's end, where the store's time is known
  std::string failure;  // the first one

  // One that ran at the same time, elsewhere.
  void add(const tally& other);
};

tally run_slice(const std::vector<std::unique_ptr<lane>>& lanes, const slice_options& options);

boost::json::object to_json(const tally& t);
// What to_json made; a tally from our own worker.
tally tally_of(const boost::json::value& from);

}  // namespace gar
