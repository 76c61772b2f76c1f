// A simulated gard: the daemon's own parts (node, sockets, executor) in a process of the machine.
//
// What gard's engine puts together is put together here, but for the config, the control socket and
// signals: plans are changed, the end is asked for, and its books are read, by a thread that the
// run starts in it.
//
//     start -> serves -> change_plan, audit ... -> stop, or killed by the run
//
// Threads: one real thread. Ownership: the run's; the process dies with the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/core/node_limits.hpp"
#include "lib/core/node_snapshot.hpp"
#include "tests/sim/kernel.hpp"

namespace gar::sim {

struct gard_settings {
  std::string plan;
  std::optional<std::string> point_plan;  // for the point "p1"
  node_limits limits;
  bool naive = false;
  bool ring = true;
  bool hardware = true;
  uint32_t spin_us = 0;
  uint32_t sleep_us = 20;
  uint64_t margin_floor_ns = 0;
};

class gard_process {
 public:
  gard_process(kernel& k, const gard_settings& how, int number);

  process& of() { return *process_; }
  bool serves() const { return serves_; }
  bool stopped() const { return stopped_; }
  // It was.
  void killed() {
    parts_ = nullptr;
    serves_ = false;
  }

  // Each by a thread of its own; a frozen gard does it later.
  void change_plan(const std::string& text);
  void stop();
  struct books {
    size_t sessions = 0;
    size_t pending = 0;
    size_t streams = 0;
    wait_counts waits;
  };
  // Filled in when the thread has run.
  void audit();
  const std::optional<books>& audited() const { return books_; }
  size_t memory_bytes() const { return process_->memory.bytes; }

 private:
  struct parts;
  void run();

  kernel* kernel_;
  gard_settings how_;
  process* process_;
  int listener_ = -1;
  parts* parts_ = nullptr;
  bool serves_ = false;
  bool stopped_ = false;
  std::optional<books> books_;
};

}  // namespace gar::sim
