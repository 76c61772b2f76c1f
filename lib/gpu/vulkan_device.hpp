// A program's VkDevice as its streams share it: its entry points, and the host pages it was told
// of.
//
// Several streams of a program may run on one VkDevice, and importing the same page into it twice
// is not promised to work. So there is one of these per VkDevice in the process, for as long as a
// stream or an imported page needs it, and its address is what keys a page's mapping.
//
// Threads: `of`, `import` and `release` from any thread; `submitting` serialises our own
// submissions on this device. Blocking: driver calls. Ownership: streams and pages hold it; the
// VkDevice itself is the program's and outlives both. Errors: Unavailable, ForeignStream (the same
// VkDevice under another instance or physical device); GAR_FAILED with the call for imports.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

#include "lib/core/error.hpp"
#include "lib/gpu/vulkan_calls.hpp"
#include "lib/gpu/vulkan_physical.hpp"
#include "lib/port/gar_device.h"

namespace gar {

class vulkan_device;

// A host page as the device sees it.
struct vulkan_page {
  std::shared_ptr<vulkan_device> device;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkBuffer buffer = VK_NULL_HANDLE;
};

class vulkan_device : public std::enable_shared_from_this<vulkan_device> {
 public:
  static result<std::shared_ptr<vulkan_device>> of(VkInstance instance, VkPhysicalDevice physical,
                                                   VkDevice device);

  VkDevice handle() const { return device_; }
  const vulkan_device_calls& calls() const { return calls_; }
  std::mutex& submitting() { return submitting_; }

  // Null on failure. The page's memory must stay mapped in this process until `release`.
  std::unique_ptr<vulkan_page> import(void* host, size_t bytes, gar_device_failure* failure);
  // No store into the page is pending.
  static void release(std::unique_ptr<vulkan_page> page);

 private:
  vulkan_device(VkInstance instance, const vulkan_physical& physical, VkDevice device,
                const vulkan_device_calls& calls, uint32_t coherent_types)
      : instance_(instance),
        physical_(physical.handle),
        device_(device),
        calls_(calls),
        import_alignment_bytes_(physical.import_alignment_bytes),
        coherent_types_(coherent_types) {}

  VkResult allocate(vulkan_page& page, void* host, size_t bytes, const char*& call);

  VkInstance instance_;
  VkPhysicalDevice physical_;
  VkDevice device_;
  vulkan_device_calls calls_;
  uint64_t import_alignment_bytes_;
  uint32_t coherent_types_;  // memory types that need no flush to be seen by the host, a bit each
  std::mutex submitting_;
};

}  // namespace gar
