#include "lib/gpu/vulkan_device.hpp"

#include <bit>
#include <map>

#include "lib/gpu/device_failure.hpp"

namespace gar {
namespace {

constexpr VkExternalMemoryHandleTypeFlagBits host_allocation =
    VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;

// A page that needed flushing would show other processes stale words.
uint32_t coherent_types(const vulkan_instance_calls& calls, VkPhysicalDevice physical) {
  VkPhysicalDeviceMemoryProperties memory{};
  calls.GetPhysicalDeviceMemoryProperties(physical, &memory);
  constexpr VkMemoryPropertyFlags needed =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  uint32_t types = 0;
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    if ((memory.memoryTypes[i].propertyFlags & needed) == needed) types |= uint32_t{1} << i;
  }
  return types;
}

struct device_registry {
  std::mutex lock;
  std::map<VkDevice, std::weak_ptr<vulkan_device>> devices;
};

// Never destroyed: streams may outlive the statics of a program that exits.
device_registry& registry() {
  static auto* const all = new device_registry;
  return *all;
}

}  // namespace

result<std::shared_ptr<vulkan_device>> vulkan_device::of(VkInstance instance,
                                                         VkPhysicalDevice physical,
                                                         VkDevice device) {
  std::lock_guard hold(registry().lock);
  auto& devices = registry().devices;
  std::erase_if(devices, [](const auto& one) { return one.second.expired(); });
  if (auto at = devices.find(device); at != devices.end()) {
    std::shared_ptr<vulkan_device> known = at->second.lock();
    if (known && known->instance_ == instance && known->physical_ == physical) return known;
    if (known) return error(errc::ForeignStream, {"another instance", "this VkDevice's own"});
  }
  result<vulkan_instance_calls> instance_calls = vulkan_instance_calls::of(instance);
  if (!instance_calls) return instance_calls.error();
  result<vulkan_physical> examined = examine(*instance_calls, physical);
  if (!examined) return examined.error();
  result<vulkan_device_calls> calls = vulkan_device_calls::of(*instance_calls, device);
  if (!calls) return calls.error();
  const uint32_t types = coherent_types(*instance_calls, physical);
  std::shared_ptr<vulkan_device> made(
      new vulkan_device(instance, *examined, device, *calls, types));
  devices[device] = made;
  return made;
}

std::unique_ptr<vulkan_page> vulkan_device::import(void* host, size_t bytes,
                                                   gar_device_failure* failure) {
  // A driver need not check this: lavapipe takes any address.
  if (reinterpret_cast<uintptr_t>(host) % import_alignment_bytes_ != 0 || bytes == 0 ||
      bytes % import_alignment_bytes_ != 0) {
    device_failed(failure, VK_ERROR_INVALID_EXTERNAL_HANDLE, "vkAllocateMemory");
    return nullptr;
  }
  auto page = std::make_unique<vulkan_page>();
  page->device = shared_from_this();
  const char* call = "";
  const VkResult status = allocate(*page, host, bytes, call);
  if (status == VK_SUCCESS) return page;
  release(std::move(page));
  device_failed(failure, status, call);
  return nullptr;
}

VkResult vulkan_device::allocate(vulkan_page& page, void* host, size_t bytes, const char*& call) {
  const VkExternalMemoryBufferCreateInfo external{
      .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
      .handleTypes = host_allocation};
  const VkBufferCreateInfo buffer{.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                  .pNext = &external,
                                  .size = bytes,
                                  .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                                  .sharingMode = VK_SHARING_MODE_EXCLUSIVE};
  call = "vkCreateBuffer";
  VkResult status = calls_.CreateBuffer(device_, &buffer, nullptr, &page.buffer);
  if (status != VK_SUCCESS) return status;

  VkMemoryHostPointerPropertiesEXT pointer{
      .sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
  call = "vkGetMemoryHostPointerPropertiesEXT";
  status = calls_.GetMemoryHostPointerPropertiesEXT(device_, host_allocation, host, &pointer);
  if (status != VK_SUCCESS) return status;

  VkMemoryRequirements needs{};
  calls_.GetBufferMemoryRequirements(device_, page.buffer, &needs);
  const uint32_t types = needs.memoryTypeBits & pointer.memoryTypeBits & coherent_types_;
  if (types == 0 || needs.size > bytes) return VK_ERROR_INVALID_EXTERNAL_HANDLE;

  const VkImportMemoryHostPointerInfoEXT import{
      .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
      .handleType = host_allocation,
      .pHostPointer = host};
  const VkMemoryAllocateInfo memory{
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
      .pNext = &import,
      .allocationSize = bytes,
      .memoryTypeIndex = static_cast<uint32_t>(std::countr_zero(types))};
  call = "vkAllocateMemory";
  status = calls_.AllocateMemory(device_, &memory, nullptr, &page.memory);
  if (status != VK_SUCCESS) return status;
  call = "vkBindBufferMemory";
  return calls_.BindBufferMemory(device_, page.buffer, page.memory, 0);
}

void vulkan_device::release(std::unique_ptr<vulkan_page> page) {
  const vulkan_device& device = *page->device;
  if (page->buffer) device.calls_.DestroyBuffer(device.device_, page->buffer, nullptr);
  if (page->memory) device.calls_.FreeMemory(device.device_, page->memory, nullptr);
}

}  // namespace gar
