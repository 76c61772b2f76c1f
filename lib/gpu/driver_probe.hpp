// Which device drivers a process can use, and if not, the very reason.
//
// A client tells gard in its hello, and `garctl caps` shows it for garctl's own process. The two
// ask differently, because looking closely can cost a program something:
//   loaded   for a hello: only libraries that the process has loaded by itself are looked at, and
//            nothing is started in them - a driver that is started before a fork() is broken in the
//            child, and may take longer than a handshake
//   full     for garctl caps: libraries are loaded, drivers started, devices counted
//
//   cuda     libcuda.so.1; status 34 is the stub library's way to say that there is no driver
//   hip      libamdhip64.so.7, .6, .5
//   vulkan   libvulkan.so.1, and a device that can store completion words (vulkan_physical.hpp)
//   sim      always there
//
// Invariants: a driver that is not available has a `why`; one that is may say in `found` what it
// is. Threads: any. Blocking: full, for as long as the drivers take to start; loaded, no. Errors:
// none; they are the answer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gar {

struct driver_capability {
  std::string name;
  bool available = false;
  std::string why;    // empty where available
  std::string found;  // "1 device", a device's name; may be empty
};

enum class probe_depth : uint8_t { loaded, full };

// cuda, hip, vulkan, sim, in this order.
std::vector<driver_capability> probe_drivers(probe_depth depth);

// One vendor each, whose library is the first of `libraries` that is there.
driver_capability probe_cuda(probe_depth depth, std::span<const char* const> libraries);
driver_capability probe_hip(probe_depth depth, std::span<const char* const> libraries);
driver_capability probe_vulkan(probe_depth depth);

}  // namespace gar
