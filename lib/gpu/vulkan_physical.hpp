// Physical devices of a Vulkan instance: which of them can store a completion word, and if not,
// why.
//
// A device qualifies with VK_EXT_external_memory_host, whose alignment divides the system's page,
// with buffers that can be imported from host memory, and with timeline semaphores.
//
// Threads: any; nothing is shared. Blocking: driver calls, which answer at once.
// Errors: Unavailable naming what is missing; Backend for a call that failed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/core/error.hpp"
#include "lib/gpu/vulkan_calls.hpp"

namespace gar {

struct vulkan_physical {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  std::string name;
  VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_OTHER;
  uint32_t api_version = 0;
  uint64_t import_alignment_bytes = 0;
};

// The device, if it qualifies.
result<vulkan_physical> examine(const vulkan_instance_calls& calls, VkPhysicalDevice handle);

// An instance of our own, and every device behind it.
class vulkan_instance {
 public:
  static result<vulkan_instance> create();
  vulkan_instance(vulkan_instance&& other) noexcept;
  vulkan_instance& operator=(vulkan_instance&&) = delete;
  ~vulkan_instance();

  VkInstance handle() const { return handle_; }
  const vulkan_instance_calls& calls() const { return calls_; }

  // The best device that qualifies: a discrete card before an integrated one before a software one.
  // Unavailable with every device's reason where none does.
  result<vulkan_physical> best() const;

 private:
  vulkan_instance(VkInstance handle, const vulkan_instance_calls& calls)
      : handle_(handle), calls_(calls) {}

  VkInstance handle_;
  vulkan_instance_calls calls_;
};

}  // namespace gar
