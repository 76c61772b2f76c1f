// Duration counts: a duration_histogram that one thread fills and others read.
//
// Invariants: each count is right by itself; what is read while another adds may miss its last.
// Threads: add by one; read by any. Blocking: never.
#pragma once

#include <array>
#include <atomic>

#include "lib/core/duration_histogram.hpp"

namespace gar {

class duration_counts {
 public:
  void add(duration d) {
    bump(counts_[duration_histogram::range_of(d)], 1);
    bump(sum_ns_, d.ns);
  }
  duration_histogram read() const {
    duration_histogram h;
    for (size_t i = 0; i < counts_.size(); ++i) {
      h.counts[i] = counts_[i].load(std::memory_order_relaxed);
    }
    h.sum_ns = sum_ns_.load(std::memory_order_relaxed);
    return h;
  }

 private:
  static void bump(std::atomic<uint64_t>& count, uint64_t by) {
    count.store(count.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }

  std::array<std::atomic<uint64_t>, duration_histogram::bounds_ns.size() + 1> counts_{};
  std::atomic<uint64_t> sum_ns_ = 0;
};

}  // namespace gar
