// Histogram chart: counts of durations as a picture, inline SVG that takes its colours from the
// page.
//
// Model: a column a range between the first and the last that are not empty; its height is its
// count over the largest. Below stand the ranges' upper bounds, not all of them where there is no
// room, and none of them past an edge. Each column has a title that says its range and count.
// Threads: pure. Allocation: the text. Errors: none; a histogram of nothing has no picture.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gar {

struct histogram_counts {
  std::vector<uint64_t> bounds_ns;
  std::vector<uint64_t> counts;  // one more than bounds
  uint64_t sum_ns = 0;

  uint64_t count() const;
  // Of so many thousandths, on a line through its range; 0 where there are none.
  uint64_t quantile_ns(uint32_t thousandths) const;
};

// `title` is for who cannot see it.
std::string histogram_chart(const histogram_counts& of, std::string_view title);

}  // namespace gar
