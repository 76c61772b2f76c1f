#include "tests/sim/monitor.hpp"

#include <array>

#include "tests/sim/machine.hpp"

namespace gar::sim {
namespace {

constexpr uint64_t instruction_ns = 30;

// A monitor that was armed sees every store from then on; between a look and arming there is time
// for one.
const monitor_pair simulated_pair{
    word_wait_kind::mwaitx,
    [] { return std::string(); },
    [] {
      return tick_rate{1'000'000'000, 1'000'000'000};
    },
    [](const uint64_t* line) {
      machine_now->pass(instruction_ns);
      machine_now->arm(line);
    },
    [](duration left, tick_rate) {
      machine_now->pass(instruction_ns);
      machine_now->monitor(machine_now->now() + left);
    },
};

}  // namespace

word_waiter simulated_waiter() {
  static const std::array<const monitor_pair*, 1> pairs{&simulated_pair};
  static const word_wait_probe probed = probe_word_wait({}, pairs);
  return probed.waiter;
}

}  // namespace gar::sim
