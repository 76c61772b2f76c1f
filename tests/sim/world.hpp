// World: one run. A gard, its clients and their devices on one machine, for one seed.
//
//   programs run, faults strike -> faults end -> every program must end -> books are balanced
//
// Threads: one real thread. Only one world at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tests/sim/gard_process.hpp"
#include "tests/sim/judge.hpp"
#include "tests/sim/kernel.hpp"
#include "tests/sim/program.hpp"
#include "tests/sim/settings.hpp"
#include "tests/sim/wire_watch.hpp"

namespace gar::sim {

struct process_faults {
  uint64_t gard_killed = 0;
  uint64_t gard_stopped = 0;
  uint64_t gard_frozen = 0;
  uint64_t clients_killed = 0;
  uint64_t clients_frozen = 0;
  uint64_t connections_cut = 0;
  uint64_t devices_broken = 0;
  uint64_t plans_changed = 0;
};

struct run_result {
  uint64_t hash = 0;
  uint64_t lines = 0;
  uint64_t virtual_ns = 0;
  std::optional<violation> failure;
  wait_tally waits;
  machine_counts scheduling;
  kernel_counts messages;
  gpu_counts devices;
  process_faults processes;
  size_t gard_bytes_max = 0;
  bool calm = false;
};

class world {
 public:
  world(uint64_t seed, bool print_all);
  ~world();

  run_result run();
  const trace& log() const { return machine_.log; }

 private:
  void start_gard();
  void start_client();
  void plan_faults();
  void strike(uint32_t times, void (world::*what)());
  void kill_gard();
  void stop_gard();
  void freeze_gard();
  void kill_client();
  void freeze_client();
  void cut_connection();
  void break_device();
  void change_plan();
  void end_faults();

  // Until `done()`, or the time has come, or something is violated.
  template <class Done>
  bool run_until(uint64_t limit_ns, Done&& done);
  bool programs_ended() const;
  void balance_books();
  program* a_client();

  const run_settings how_;
  machine machine_;
  kernel kernel_;
  judge judge_;
  wire_watch watch_;
  gpu_counts devices_;
  process_faults faults_;
  std::vector<std::unique_ptr<gard_process>> gards_;
  std::vector<std::unique_ptr<program>> programs_;
  uint64_t start_ns_ = 0;
  bool faults_over_ = false;
  size_t plan_next_ = 0;
  size_t gard_bytes_max_ = 0;
};

}  // namespace gar::sim
