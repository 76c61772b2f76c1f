// Query pace: how often to ask an authority that just said "not yet", where nothing else would wake
// the asker.
//
// The first pause is short, because the answer is usually near; each further one is twice as long,
// up to a limit, because a wrong guess must not burn a core.
//
//     20 us, 40 us, 80 us, ... most, most, ...
//
// Pure: durations out. Threads: values. Allocation: none.
#pragma once

#include <algorithm>

#include "lib/core/time.hpp"

namespace gar {

class query_pace {
 public:
  static constexpr duration first = from_us(20);

  explicit constexpr query_pace(duration most) : most_(std::max(most, first)) {}

  // The pause to make before the next query.
  constexpr duration next() {
    const duration pause = std::min(pause_, most_);
    pause_ = pause + pause;
    return pause;
  }

 private:
  duration most_;
  duration pause_ = first;
};

// The same doubling for whoever keeps no pace: the pause after a look at `now`, where the first was
// at `since`, is what has gone by.
constexpr instant next_look(instant since, instant now, duration most) {
  return now + std::max(std::min(now - since, most), query_pace::first);
}

}  // namespace gar
