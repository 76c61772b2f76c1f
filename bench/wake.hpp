// Wakes: how long from a store until a waiting client goes on, ours beside a floor.
//
// Each side waits for numbers that one and the same producer stores. Both take turns, a round each,
// on the same cores: gard or the relay that stands for it on one, the client on the other.
//
//   expect    the next number is announced: recorded, or told to the relay
//   await     the client blocks, or looks, until it has come
//
// A sample is kept only if the store came well after the client began to wait, so that the client's
// core had gone idle: what a wake costs depends on that more than on the mechanism.
// Threads: the caller's is the client. Errors: cannot_measure.
#pragma once

#include "bench/measure.hpp"
#include "bench/producer.hpp"

namespace gar::bench {

class wake_side {
 public:
  virtual ~wake_side() = default;
  virtual void begin_round() {}
  virtual void end_round() {}
  virtual store_order expect() = 0;
  virtual void await() = 0;
};

struct wake_pair {
  samples ours;
  samples floor;
  size_t dropped = 0;  // the store came before the client had settled down
};

struct wake_timing {
  uint64_t delay_ns = 250'000;   // from announcement to store, and half of it more
  uint64_t settled_ns = 60'000;  // a store before that is no sample
};

// Without a producer the client stores by itself; then it must not block.
wake_pair compare_wakes(wake_side& ours, wake_side& floor, producer* by, const options& o,
                        const wake_timing& timing = {});

// What every case about wakes prints: both sides, and the ratio at a quantile.
case_result wake_result(const wake_pair& pair, const std::string& ours, const std::string& floor);

}  // namespace gar::bench
