// Estimator: how long a wait at this point can sleep before it must look.
//
// A loop that waits for a GPU waits at the same places for about the same time. Per readback point
// the last residuals (completion - start of the wait) are kept; the prediction is their minimum, so
// that the sleep ends early rather than late: early costs CPU, late costs latency.
//
//   exact{residual}  the wait saw it pending, then done: the residual is recorded
//   late{woke}       the first look after the sleep found it done: min(woke, prediction)/2 is
//                    recorded (woke/2 at a cold point), so late wakes lower the prediction
//                    geometrically and never raise it; a sleep's overshoot never feeds back
//
// Pure: nanoseconds in, nanoseconds out. Threads: values. Allocation: none.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "lib/core/plan.hpp"
#include "lib/core/time.hpp"

namespace gar {

struct sample {
  enum class kind : uint8_t { none, exact, late };
  kind what = kind::none;
  duration value;  // exact: the residual; late: when it woke, from the start of the wait

  static constexpr sample none() { return {}; }
  static constexpr sample exact(duration residual) { return {kind::exact, residual}; }
  static constexpr sample late(duration woke) { return {kind::late, woke}; }
  bool operator==(const sample&) const = default;
};

// A plan's prediction on a host whose sleeps overshoot by `floor`: a sleep must end so much before
// what is predicted, whatever smaller margin the plan has.
constexpr prediction with_margin_floor(prediction by, duration floor) {
  by.margin = std::max(by.margin, floor);
  return by;
}

// The history of one readback point. It keeps the 16 newest samples; a plan looks at its last
// `window` of them, so that a change of plan needs no new history.
class estimator {
 public:
  // The minimum of the last `window` samples; none before the first.
  std::optional<duration> predicted(uint8_t window) const;
  // How long to sleep under this plan; 0 means not to sleep.
  duration sleep_for(const prediction& by) const;
  void record(const sample& s, uint8_t window);
  uint32_t samples() const { return count_; }

 private:
  static constexpr size_t samples_max = 16;
  std::array<duration, samples_max> ring_{};
  uint8_t next_ = 0;   // where the next sample goes
  uint8_t count_ = 0;  // samples kept
};

}  // namespace gar
