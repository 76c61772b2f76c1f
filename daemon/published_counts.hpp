// Published counts: what a reactor's thread has counted, for whoever asks on another thread.
//
// Threads: one publishes, any reads; each figure by itself, of one turn or of the next.
// Blocking, allocation: none.
#pragma once

#include <atomic>
#include <cstdint>

#include "lib/core/node_snapshot.hpp"
#include "lib/core/reactor.hpp"

namespace gar {

class published_counts {
 public:
  void publish(const run_statistics& s, uint64_t probes) {
    const auto write = [](std::atomic<uint64_t>& c, uint64_t v) {
      c.store(v, std::memory_order_relaxed);
    };
    write(polls_, s.polls);
    write(woken_, s.woken);
    write(slept_, s.slept);
    write(parked_, s.parked);
    write(idle_ns_, s.idle_ns);
    write(probes_, probes);
  }
  reactor_counts read() const {
    const auto read = [](const std::atomic<uint64_t>& c) {
      return c.load(std::memory_order_relaxed);
    };
    return {read(polls_), read(woken_), read(slept_), read(parked_), read(idle_ns_), read(probes_)};
  }

 private:
  std::atomic<uint64_t> polls_ = 0;
  std::atomic<uint64_t> woken_ = 0;
  std::atomic<uint64_t> slept_ = 0;
  std::atomic<uint64_t> parked_ = 0;
  std::atomic<uint64_t> idle_ns_ = 0;
  std::atomic<uint64_t> probes_ = 0;
};

}  // namespace gar
