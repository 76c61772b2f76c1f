// Settings of one run, all drawn from its seed: how large the world is, what gard and its clients
// are asked for, and which faults there are, each at a rate of its own (some off, others wild).
//
// Threads: values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/gard_process.hpp"
#include "tests/sim/gpu.hpp"
#include "tests/sim/kernel.hpp"

namespace gar::sim {

struct run_settings {
  explicit run_settings(uint64_t seed);

  // No thread runs late, no message is held up, nobody is frozen, killed or cut: then waits must
  // end soon, whatever the devices' stores do.
  bool calm = false;

  size_t clients = 1;
  size_t threads_per_client = 1;
  size_t streams_per_thread = 1;
  size_t steps = 4;  // of each thread
  uint64_t work_ns_max = 0;
  uint64_t think_ns_max = 0;
  uint32_t look_us = 20;
  bool word_streams = false;
  bool points = false;
  bool timeouts = false;
  bool cancels = false;
  bool inlines = false;
  bool asyncs = false;
  bool reopens = false;  // streams are closed and opened again
  bool in_process = false;

  gard_settings gard;
  std::vector<std::string> later_plans;  // in force one after the other

  machine_faults scheduling;
  kernel_faults messages;
  gpu_faults devices;

  // At random times while the programs run.
  uint32_t gard_kills = 0;
  uint32_t gard_stops = 0;
  uint32_t gard_freezes = 0;
  uint32_t client_kills = 0;
  uint32_t client_freezes = 0;
  uint32_t connection_cuts = 0;
  uint32_t device_breaks = 0;
  uint64_t faults_end_ns = 0;  // from the start
  uint64_t base = 0;           // of each stream at gard

  uint64_t backstop_ns = 0;  // the longest of all plans
  uint64_t sleep_ns = 0;     // that a plan may predict

  std::string text() const;
};

}  // namespace gar::sim
