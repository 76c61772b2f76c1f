// Program: a simulated process that uses the client library as any program does, by gar.h.
//
// Each of its threads opens streams, submits work, records, waits in every way that there is,
// closes, and leaves. What it does is drawn from the run's seed.
//
// Threads: one real thread. Ownership: the run's; the process dies with the machine.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "clients/garclient/gar.h"
#include "tests/sim/gpu.hpp"
#include "tests/sim/judge.hpp"
#include "tests/sim/settings.hpp"

namespace gar::sim {

class program {
 public:
  program(kernel& k, judge& j, const run_settings& how, gpu_counts& counts, int number);

  process& of() { return *process_; }
  bool ended() const { return ended_; }
  std::vector<std::unique_ptr<gpu_stream>>& streams() { return streams_; }
  // It was killed.
  void killed();
  // Is told of each stream that is opened.
  std::function<void(gpu_stream&)> opens;

 private:
  struct held {
    gar_stream* handle = nullptr;
    gpu_stream* gpu = nullptr;
    std::vector<uint64_t> waiting;  // recorded, and not waited for yet
    bool failed = false;
  };

  void run();
  void run_thread(size_t index);
  held open(const std::string& who);
  void step(const std::string& who, held& s);
  void record(const std::string& who, held& s);
  void wait(const std::string& who, held& s, uint64_t sequence);
  void wait_async(const std::string& who, held& s, uint64_t sequence);
  void take(const std::string& who, bool all);
  void close(const std::string& who, held& s);
  gar_wait_options draw_options(uint64_t* timeout_ns);
  void think(uint64_t most_ns);
  random_source& random() { return kernel_->on->random; }

  kernel* kernel_;
  judge* judge_;
  const run_settings* how_;
  gpu_counts* counts_;
  process* process_;
  gar_device_ops ops_;
  std::vector<std::unique_ptr<gpu_stream>> streams_;
  gar_client* client_ = nullptr;
  size_t running_ = 0;
  uint64_t async_open_ = 0;
  bool ended_ = false;
};

}  // namespace gar::sim
