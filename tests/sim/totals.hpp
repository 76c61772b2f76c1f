// Totals: what many runs did, counter by counter, as it is printed at the end.
//
// Threads: values; copied as bytes between processes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "tests/sim/world.hpp"

namespace gar::sim {

struct totals {
  struct counter {
    std::string_view group;
    std::string_view name;
    uint64_t value;
  };
  static constexpr size_t counters_max = 40;

  uint64_t seeds = 0;
  uint64_t failures = 0;
  uint64_t calm = 0;
  uint64_t virtual_ns = 0;
  uint64_t turns = 0;
  uint64_t gard_bytes_max = 0;
  std::array<uint64_t, counters_max> counted{};

  void add(const run_result& r);
  void add(const totals& other);
  // To stdout, with how fast it was.
  void print(double seconds) const;
};

}  // namespace gar::sim
