// Every Vulkan entry point that is used, in tables that are filled at run time.
//
// Nothing links a Vulkan loader: it is opened by name, and each function is asked for once. What is
// missing is named, so that nobody meets it as a crash later.
//
// Threads: filled once, then read. Ownership: the loader stays loaded; an instance's or a device's
// table is good as long as that instance or device.
// Errors: Unavailable, naming the library or the function.
#pragma once

#define VK_NO_PROTOTYPES 1
#include <vulkan/vulkan_core.h>

#include "lib/core/error.hpp"

namespace gar {

#define GAR_VULKAN_INSTANCE_CALLS(X)           \
  X(DestroyInstance)                           \
  X(EnumeratePhysicalDevices)                  \
  X(EnumerateDeviceExtensionProperties)        \
  X(GetPhysicalDeviceProperties)               \
  X(GetPhysicalDeviceProperties2)              \
  X(GetPhysicalDeviceFeatures2)                \
  X(GetPhysicalDeviceMemoryProperties)         \
  X(GetPhysicalDeviceQueueFamilyProperties)    \
  X(GetPhysicalDeviceExternalBufferProperties) \
  X(CreateDevice)                              \
  X(GetDeviceProcAddr)

#define GAR_VULKAN_DEVICE_CALLS(X) \
  X(DestroyDevice)                 \
  X(GetDeviceQueue)                \
  X(DeviceWaitIdle)                \
  X(CreateBuffer)                  \
  X(DestroyBuffer)                 \
  X(GetBufferMemoryRequirements)   \
  X(AllocateMemory)                \
  X(FreeMemory)                    \
  X(BindBufferMemory)              \
  X(MapMemory)                     \
  X(CreateCommandPool)             \
  X(DestroyCommandPool)            \
  X(AllocateCommandBuffers)        \
  X(BeginCommandBuffer)            \
  X(EndCommandBuffer)              \
  X(CmdPipelineBarrier)            \
  X(CmdFillBuffer)                 \
  X(CmdUpdateBuffer)               \
  X(QueueSubmit)                   \
  X(CreateSemaphore)               \
  X(DestroySemaphore)              \
  X(GetSemaphoreCounterValue)      \
  X(WaitSemaphores)

#define GAR_VULKAN_MEMBER(name) PFN_vk##name name = nullptr;

// What works without an instance.
struct vulkan_loader {
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
  PFN_vkCreateInstance CreateInstance = nullptr;
  PFN_vkEnumerateInstanceVersion EnumerateInstanceVersion = nullptr;

  // The process's loader, opened at the first call; later calls give the same.
  static const result<vulkan_loader>& get();
};

struct vulkan_instance_calls {
  GAR_VULKAN_INSTANCE_CALLS(GAR_VULKAN_MEMBER)

  static result<vulkan_instance_calls> of(VkInstance instance);
};

// Without VK_EXT_external_memory_host's own call: whether that resolves tells whether the device
// was created with the extension.
struct vulkan_device_calls {
  GAR_VULKAN_DEVICE_CALLS(GAR_VULKAN_MEMBER)
  PFN_vkGetMemoryHostPointerPropertiesEXT GetMemoryHostPointerPropertiesEXT = nullptr;

  static result<vulkan_device_calls> of(const vulkan_instance_calls& instance, VkDevice device);
};

#undef GAR_VULKAN_MEMBER

// The failure of a Vulkan call as everybody reports it.
error vulkan_failed(const char* call, VkResult status);

}  // namespace gar
