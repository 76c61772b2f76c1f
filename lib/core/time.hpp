// Instants and durations: the only way time enters the core.
//
// Waiting code that reads a clock cannot be replayed. Here time is a value handed in: an `instant`
// on some monotonic scale, a `duration` between two. They are different types, so that a deadline
// is never taken for a timeout.
//
// Invariants: subtracting a later instant gives 0; adding saturates at the last instant.
// Units: nanoseconds, always.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace gar {

struct duration {
  uint64_t ns = 0;

  static constexpr uint64_t ns_max = std::numeric_limits<uint64_t>::max();

  static constexpr duration max() { return {ns_max}; }
  constexpr auto operator<=>(const duration&) const = default;
  constexpr explicit operator bool() const { return ns != 0; }

  friend constexpr duration operator+(duration a, duration b) {
    return {a.ns > ns_max - b.ns ? ns_max : a.ns + b.ns};
  }
  // Saturates at 0.
  friend constexpr duration operator-(duration a, duration b) {
    return {a.ns > b.ns ? a.ns - b.ns : 0};
  }
  friend constexpr duration operator/(duration a, uint64_t by) { return {a.ns / by}; }
};

struct instant {
  uint64_t ns = 0;

  // No deadline: later than anything.
  static constexpr instant never() { return {duration::ns_max}; }
  constexpr auto operator<=>(const instant&) const = default;

  friend constexpr instant operator+(instant at, duration by) {
    return {(duration{at.ns} + by).ns};
  }
  friend constexpr instant operator-(instant at, duration by) {
    return {(duration{at.ns} - by).ns};
  }
  friend constexpr duration operator-(instant later, instant earlier) {
    return duration{later.ns} - duration{earlier.ns};
  }
};

constexpr duration from_us(uint64_t us) {
  return {us > duration::ns_max / 1000 ? duration::ns_max : us * 1000};
}
constexpr duration from_ms(uint64_t ms) {
  return {ms > duration::ns_max / 1'000'000 ? duration::ns_max : ms * 1'000'000};
}

}  // namespace gar
