// Line pace: how many lines of a log one user can cause.
//
// Whoever connects, breaks the protocol and connects again could fill a disk with what gard says
// about it. Each user may cause some lines at once and a few a second; what is left out is counted
// and told with the next line.
//
//   allowed --> allowed, until `burst` more came than the pace allows --> left out --> allowed
//
// Threads: one. Pure: time is handed in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "lib/core/time.hpp"

namespace gar {

class line_pace {
 public:
  static constexpr duration interval = from_ms(200);  // between lines, in the long run
  static constexpr uint64_t burst = 100;

  // How many lines were left out before this one; nothing: this one is left out too.
  std::optional<uint64_t> allow(instant now) {
    if (now < due_ - duration{interval.ns * burst}) {
      ++left_out_;
      return std::nullopt;
    }
    due_ = std::max(due_, now) + interval;
    return std::exchange(left_out_, 0);
  }
  // As one that never caused a line.
  bool at_rest(instant now) const { return due_ <= now && left_out_ == 0; }

 private:
  instant due_;
  uint64_t left_out_ = 0;
};

}  // namespace gar
