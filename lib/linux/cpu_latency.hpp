// CPU latency: asks the kernel to keep every CPU of the machine from deep sleep.
//
// The device file /dev/cpu_dma_latency is the request: it counts while its descriptor is open, and
// its value is the longest time in us that a CPU may take to wake. Opened, it asks for nothing yet.
//
//     open: asks for nothing <--hold, release--> held at 0; closed: as if never opened
//
// Threads: one at a time. Blocking: the kernel wakes every CPU at a change, which takes some
// microseconds. Errors: SystemCall with the kernel's reason; after a refused change what was asked
// before stays asked.
#pragma once

#include "lib/core/error.hpp"
#include "lib/linux/unique_fd.hpp"

namespace gar {

inline constexpr const char* cpu_latency_device = "/dev/cpu_dma_latency";

class cpu_latency {
 public:
  static result<cpu_latency> open(const char* device = cpu_latency_device);

  // The kernel's answer is read back: while it is held, nothing may take longer than 0 us.
  result<void> hold();
  result<void> release();

 private:
  explicit cpu_latency(unique_fd fd) : fd_(std::move(fd)) {}
  result<void> ask_for(int32_t latency_us);

  unique_fd fd_;
};

}  // namespace gar
