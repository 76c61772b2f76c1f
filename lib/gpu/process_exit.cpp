#include "lib/gpu/process_exit.hpp"

#include <atomic>
#include <cstdlib>

namespace gar {
namespace {

std::atomic<bool> exiting{false};

}  // namespace

void watch_process_exit() {
  static const int registered = std::atexit([] { exiting.store(true); });
  (void)registered;  // where there is no room for a handler, the process ends without one
}

bool process_is_exiting() {
  return exiting.load(std::memory_order_relaxed);
}

}  // namespace gar
