#include "lib/gpu/vulkan_physical.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace gar {
namespace {

constexpr const char* import_extension = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;

error lacks(const std::string& device, const std::string& what) {
  return error(errc::Unavailable, {"vulkan", device + ": " + what});
}

bool has_extension(const vulkan_instance_calls& calls, VkPhysicalDevice handle, const char* name) {
  uint32_t count = 0;
  if (calls.EnumerateDeviceExtensionProperties(handle, nullptr, &count, nullptr) != VK_SUCCESS) {
    return false;
  }
  std::vector<VkExtensionProperties> found(count);
  // VK_INCOMPLETE cannot come: the count was just asked for, and a device's set is fixed.
  if (calls.EnumerateDeviceExtensionProperties(handle, nullptr, &count, found.data()) !=
      VK_SUCCESS) {
    return false;
  }
  return std::any_of(found.begin(), found.end(), [&](const VkExtensionProperties& one) {
    return std::strcmp(one.extensionName, name) == 0;
  });
}

bool has_timeline_semaphores(const vulkan_instance_calls& calls, VkPhysicalDevice handle) {
  VkPhysicalDeviceTimelineSemaphoreFeatures timeline{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES};
  VkPhysicalDeviceFeatures2 features{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                     .pNext = &timeline};
  calls.GetPhysicalDeviceFeatures2(handle, &features);
  return timeline.timelineSemaphore == VK_TRUE;
}

bool imports_host_buffers(const vulkan_instance_calls& calls, VkPhysicalDevice handle) {
  const VkPhysicalDeviceExternalBufferInfo asked{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO,
      .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT,
      .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT};
  VkExternalBufferProperties told{.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
  calls.GetPhysicalDeviceExternalBufferProperties(handle, &asked, &told);
  return told.externalMemoryProperties.externalMemoryFeatures &
         VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
}

uint64_t import_alignment_bytes(const vulkan_instance_calls& calls, VkPhysicalDevice handle) {
  VkPhysicalDeviceExternalMemoryHostPropertiesEXT host{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
  VkPhysicalDeviceProperties2 properties{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                         .pNext = &host};
  calls.GetPhysicalDeviceProperties2(handle, &properties);
  return host.minImportedHostPointerAlignment;
}

int preference(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return 3;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return 2;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return 1;
    default:
      return 0;
  }
}

}  // namespace

result<vulkan_physical> examine(const vulkan_instance_calls& calls, VkPhysicalDevice handle) {
  VkPhysicalDeviceProperties properties{};
  calls.GetPhysicalDeviceProperties(handle, &properties);
  vulkan_physical device{.handle = handle,
                         .name = properties.deviceName,
                         .type = properties.deviceType,
                         .api_version = properties.apiVersion};
  if (device.api_version < VK_API_VERSION_1_1) return lacks(device.name, "is Vulkan 1.0 only");
  if (!has_extension(calls, handle, import_extension)) {
    return lacks(device.name, std::string(import_extension) + " is missing");
  }
  if (!has_timeline_semaphores(calls, handle)) {
    return lacks(device.name, "the feature timelineSemaphore is missing");
  }
  if (!imports_host_buffers(calls, handle)) {
    return lacks(device.name, "buffers cannot be imported from host memory");
  }
  device.import_alignment_bytes = import_alignment_bytes(calls, handle);
  const auto page_bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (device.import_alignment_bytes == 0 || page_bytes % device.import_alignment_bytes != 0) {
    return lacks(device.name, "imports host memory in units of " +
                                  std::to_string(device.import_alignment_bytes) +
                                  " bytes, and a page has " + std::to_string(page_bytes));
  }
  return device;
}

result<vulkan_instance> vulkan_instance::create() {
  const result<vulkan_loader>& loader = vulkan_loader::get();
  if (!loader) return loader.error();
  uint32_t version = 0;
  if (loader->EnumerateInstanceVersion(&version) != VK_SUCCESS || version < VK_API_VERSION_1_1) {
    return error(errc::Unavailable, {"vulkan", "the loader knows Vulkan 1.0 only"});
  }
  const VkApplicationInfo application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                      .pApplicationName = "gar",
                                      .apiVersion = VK_API_VERSION_1_2};
  const VkInstanceCreateInfo info{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                  .pApplicationInfo = &application};
  VkInstance handle = VK_NULL_HANDLE;
  const VkResult created = loader->CreateInstance(&info, nullptr, &handle);
  if (created == VK_ERROR_INCOMPATIBLE_DRIVER) {
    return error(errc::Unavailable, {"vulkan", "no driver is installed"});
  }
  if (created != VK_SUCCESS) return vulkan_failed("vkCreateInstance", created);
  result<vulkan_instance_calls> calls = vulkan_instance_calls::of(handle);
  if (!calls) return calls.error();
  return vulkan_instance(handle, *calls);
}

vulkan_instance::vulkan_instance(vulkan_instance&& other) noexcept
    : handle_(std::exchange(other.handle_, VK_NULL_HANDLE)), calls_(other.calls_) {}

vulkan_instance::~vulkan_instance() {
  if (handle_) calls_.DestroyInstance(handle_, nullptr);
}

result<vulkan_physical> vulkan_instance::best() const {
  uint32_t count = 0;
  VkResult listed = calls_.EnumeratePhysicalDevices(handle_, &count, nullptr);
  if (listed != VK_SUCCESS) return vulkan_failed("vkEnumeratePhysicalDevices", listed);
  std::vector<VkPhysicalDevice> handles(count);
  listed = calls_.EnumeratePhysicalDevices(handle_, &count, handles.data());
  if (listed < 0) return vulkan_failed("vkEnumeratePhysicalDevices", listed);
  handles.resize(count);

  std::string why;
  std::vector<vulkan_physical> qualified;
  for (VkPhysicalDevice handle : handles) {
    result<vulkan_physical> device = examine(calls_, handle);
    if (device) {
      qualified.push_back(std::move(*device));
    } else {
      why += (why.empty() ? "" : "; ") + device.error().arguments().back();
    }
  }
  if (qualified.empty()) {
    return error(errc::Unavailable, {"vulkan", why.empty() ? "no device was found" : why});
  }
  return *std::max_element(qualified.begin(), qualified.end(), [](const auto& a, const auto& b) {
    return preference(a.type) < preference(b.type);
  });
}

}  // namespace gar
