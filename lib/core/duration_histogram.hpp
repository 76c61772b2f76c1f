// Duration histogram: how long many things took, in a few counts.
//
// A mean hides the tail that people ask about, and all samples are too many to keep. So each
// duration falls into one of a fixed set of ranges, fine where waits of a GPU are.
//
//   bound        10 us   25 us   50 us ...   5 s   10 s   (none)
//   counts[i]    durations above bound i - 1 and not above bound i
//
// Invariants: the bounds rise; each `add` raises one count and the sum, which saturates.
// Threads: a value. Allocation: none. Units: ns.
// A quantile is as good as its range is narrow: it is taken on a line through the range.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>

#include "lib/core/time.hpp"

namespace gar {

struct duration_histogram {
  static constexpr std::array<uint64_t, 20> bounds_ns{
      1'000,      2'500,       5'000,       10'000,        25'000,        50'000,        100'000,
      250'000,    500'000,     1'000'000,   2'500'000,     5'000'000,     10'000'000,    25'000'000,
      50'000'000, 100'000'000, 250'000'000, 1'000'000'000, 5'000'000'000, 10'000'000'000};

  std::array<uint64_t, bounds_ns.size() + 1> counts{};
  uint64_t sum_ns = 0;

  static size_t range_of(duration d) {
    const auto* bound = std::lower_bound(bounds_ns.begin(), bounds_ns.end(), d.ns);
    return static_cast<size_t>(bound - bounds_ns.begin());
  }
  void add(duration d) {
    ++counts[range_of(d)];
    sum_ns = sum_ns + d.ns < sum_ns ? UINT64_MAX : sum_ns + d.ns;
  }
  void add(const duration_histogram& other) {
    for (size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
    sum_ns = sum_ns + other.sum_ns < sum_ns ? UINT64_MAX : sum_ns + other.sum_ns;
  }
  uint64_t count() const { return std::accumulate(counts.begin(), counts.end(), uint64_t{0}); }

  // Of so many thousandths of all; nothing where there are none. Beyond the last bound: that.
  std::optional<duration> quantile(uint32_t thousandths) const {
    const uint64_t all = count();
    if (all == 0) return std::nullopt;
    // The sample that so many are not above, counted from 1.
    const uint64_t wanted = std::max<uint64_t>(
        1, static_cast<uint64_t>(static_cast<double>(all) * thousandths / 1000.0 + 0.5));
    uint64_t below = 0;
    for (size_t i = 0; i < bounds_ns.size(); ++i) {
      if (below + counts[i] < wanted) {
        below += counts[i];
        continue;
      }
      const uint64_t from = i == 0 ? 0 : bounds_ns[i - 1];
      const double part = static_cast<double>(wanted - below) / static_cast<double>(counts[i]);
      return duration{from +
                      static_cast<uint64_t>(static_cast<double>(bounds_ns[i] - from) * part)};
    }
    return duration{bounds_ns.back()};
  }
};

}  // namespace gar
