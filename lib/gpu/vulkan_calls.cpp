#include "lib/gpu/vulkan_calls.hpp"

#include <array>
#include <string>

#include "lib/gpu/dynamic_library.hpp"

namespace gar {
namespace {

constexpr std::array<const char*, 1> loader_names{"libvulkan.so.1"};

error missing(const char* name) {
  return error(errc::Unavailable, {"vulkan", std::string(name) + " is not offered"});
}

result<vulkan_loader> open_loader() {
  result<dynamic_library> library = dynamic_library::open(loader_names, library_use::load);
  if (!library) return library.error();
  vulkan_loader loader;
  loader.GetInstanceProcAddr = library->symbol<PFN_vkGetInstanceProcAddr>("vkGetInstanceProcAddr");
  if (!loader.GetInstanceProcAddr) return missing("vkGetInstanceProcAddr");
  const auto global = [&](const char* name) { return loader.GetInstanceProcAddr(nullptr, name); };
  loader.CreateInstance = reinterpret_cast<PFN_vkCreateInstance>(global("vkCreateInstance"));
  loader.EnumerateInstanceVersion =
      reinterpret_cast<PFN_vkEnumerateInstanceVersion>(global("vkEnumerateInstanceVersion"));
  if (!loader.CreateInstance) return missing("vkCreateInstance");
  if (!loader.EnumerateInstanceVersion) return missing("vkEnumerateInstanceVersion");
  return loader;
}

// Under its own name, or under the one it had before it was taken into the core.
template <class Resolve>
PFN_vkVoidFunction resolve_either(Resolve resolve, const char* name) {
  if (PFN_vkVoidFunction found = resolve(name)) return found;
  return resolve((std::string(name) + "KHR").c_str());
}

}  // namespace

const result<vulkan_loader>& vulkan_loader::get() {
  static const result<vulkan_loader> loader = open_loader();
  return loader;
}

result<vulkan_instance_calls> vulkan_instance_calls::of(VkInstance instance) {
  const result<vulkan_loader>& loader = vulkan_loader::get();
  if (!loader) return loader.error();
  const auto resolve = [&](const char* name) {
    return loader->GetInstanceProcAddr(instance, name);
  };
  vulkan_instance_calls calls;
#define GAR_VULKAN_RESOLVE(name)                                                    \
  calls.name = reinterpret_cast<PFN_vk##name>(resolve_either(resolve, "vk" #name)); \
  if (!calls.name) return missing("vk" #name);
  GAR_VULKAN_INSTANCE_CALLS(GAR_VULKAN_RESOLVE)
#undef GAR_VULKAN_RESOLVE
  return calls;
}

result<vulkan_device_calls> vulkan_device_calls::of(const vulkan_instance_calls& instance,
                                                    VkDevice device) {
  const auto resolve = [&](const char* name) { return instance.GetDeviceProcAddr(device, name); };
  vulkan_device_calls calls;
#define GAR_VULKAN_RESOLVE(name)                                                    \
  calls.name = reinterpret_cast<PFN_vk##name>(resolve_either(resolve, "vk" #name)); \
  if (!calls.name) return missing("vk" #name);
  GAR_VULKAN_DEVICE_CALLS(GAR_VULKAN_RESOLVE)
#undef GAR_VULKAN_RESOLVE
  calls.GetMemoryHostPointerPropertiesEXT =
      reinterpret_cast<PFN_vkGetMemoryHostPointerPropertiesEXT>(
          resolve("vkGetMemoryHostPointerPropertiesEXT"));
  if (!calls.GetMemoryHostPointerPropertiesEXT) {
    return error(errc::Unavailable,
                 {"vulkan", "the device was created without VK_EXT_external_memory_host"});
  }
  return calls;
}

error vulkan_failed(const char* call, VkResult status) {
  return error(errc::Backend, {call, std::to_string(status)}, status);
}

}  // namespace gar
