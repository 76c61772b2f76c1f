// The producer: a process that stores numbers into words when it is told to, as a device would.
//
// Where it has a core of its own it spins there. On two cores it must share one: it then sleeps to
// each store, or to shortly before it and spins on from there, and preempts whoever runs on its
// core. What that costs is part of both sides of a comparison.
//
// Memory order: orders are published by `turn` (release) and taken from it (acquire); `done` goes
// the other way.
// Threads: one gives orders, each batch after the one before is done. Ownership: the memory that an
// order names is mapped before the producer is made, and outlives it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "bench/processes.hpp"

namespace gar::bench {

struct store_order {
  uint64_t* word = nullptr;
  uint64_t value = 0;
  uint64_t* bell = nullptr;  // rung behind the word; none for memory that is not gard's
  uint64_t bell_value = 0;
  uint64_t at_ns = 0;
};

struct producer_place {
  unsigned core = 0;
  bool spins = false;    // between orders too
  uint64_t lead_ns = 0;  // how long before a store a sleeping one wakes, to spin to its time
  // Of its own where there are three; else a sleeping one on gard's core, so that the client's is
  // as idle as with a device.
  static producer_place beside_gard();
};

class producer {
 public:
  static constexpr size_t orders_max = 64;

  explicit producer(const producer_place& place = producer_place::beside_gard());

  void order(const store_order& o) { order(std::span(&o, 1)); }
  // In the order of their times.
  void order(std::span<const store_order> all);
  // When an order of the last batch was carried out; spins until the batch is.
  uint64_t stored_ns(size_t index = 0) const;

 private:
  struct orders {
    alignas(64) uint32_t turn = 0;  // a futex word
    size_t count = 0;
    std::array<store_order, orders_max> what;
    alignas(64) uint64_t done = 0;
    std::array<uint64_t, orders_max> stored_ns{};
  };
  static void serve(orders& from, const producer_place& place);
  static void carry_out(orders& from, const producer_place& place);

  shared<orders> orders_;
  producer_place place_;
  child process_;
};

}  // namespace gar::bench
