// Capabilities: what this host can do, each present or absent with a reason a person can act on.
//
// A setting that the host cannot honour must neither fail later nor change silently. The host is
// probed once at start (lib/linux); the answers are kept here and every setting that needs one is
// resolved against them (fallback_chain.hpp, resolve.hpp).
//
// Invariants: a state with available == false has a `why`. A state that is available may have one
// too: which mechanism it is, or what limits it.
// Threads: values; filled before they are shared. Allocation: the reasons.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace gar {

enum class capability : uint8_t { word_wait, io_uring, timer_slack, cpu_quota, memlock };
inline constexpr size_t capability_count = 5;

constexpr std::string_view name_of(capability c) {
  switch (c) {
    case capability::word_wait:
      return "word-wait";
    case capability::io_uring:
      return "io-uring";
    case capability::timer_slack:
      return "timer-slack";
    case capability::cpu_quota:
      return "cpu-quota";
    case capability::memlock:
      return "memlock";
  }
  return "";
}

struct capability_state {
  bool available = false;
  std::string why = "not probed";
};

// The table: one state for each capability.
class capabilities {
 public:
  // Nothing was probed: nothing is available.
  capabilities() = default;
  static capabilities all_available() {
    capabilities c;
    for (capability_state& s : c.state_) s = {true, {}};
    return c;
  }

  const capability_state& operator[](capability c) const { return state_[static_cast<size_t>(c)]; }
  capability_state& operator[](capability c) { return state_[static_cast<size_t>(c)]; }

  void set_available(capability c, std::string how = {}) { (*this)[c] = {true, std::move(how)}; }
  void set_absent(capability c, std::string why) { (*this)[c] = {false, std::move(why)}; }

 private:
  std::array<capability_state, capability_count> state_{};
};

}  // namespace gar
