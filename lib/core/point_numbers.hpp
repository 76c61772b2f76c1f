// Point numbers: the short numbers that stand for a client's point names on one connection.
//
// A wait names its point by a number, 1..256; the name went to gard once before. When all numbers
// are taken, the one used least recently gets the new name.
//
// Invariants: number_of gives the same number for a name until 256 other names were used since.
// Threads: one at a time. Cost: a walk over at most 256 names. Allocation: names are copied.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/limits.hpp"

namespace gar {

class point_numbers {
 public:
  struct answer {
    uint32_t number = 0;  // 0 for no name
    bool fresh = false;   // its meaning is new: say so before the number is used
  };

  answer number_of(std::string_view name) {
    if (name.empty()) return {};
    const auto known =
        std::find_if(used_.begin(), used_.end(), [&](const entry& e) { return e.name == name; });
    if (known != used_.end()) {
      std::rotate(used_.begin(), known, known + 1);
      return {used_.front().number, false};
    }
    if (used_.size() < proto::points_per_client_max) {
      const auto number = static_cast<uint32_t>(used_.size() + 1);
      used_.insert(used_.begin(), {std::string(name), number});
    } else {
      std::rotate(used_.begin(), used_.end() - 1, used_.end());
      used_.front().name = name;
    }
    return {used_.front().number, true};
  }

 private:
  struct entry {
    std::string name;
    uint32_t number;
  };
  std::vector<entry> used_;  // the most recently used first
};

}  // namespace gar
