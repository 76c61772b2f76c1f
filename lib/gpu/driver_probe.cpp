#include "lib/gpu/driver_probe.hpp"

#include <array>
#include <utility>

#include "lib/gpu/cuda_driver.hpp"
#include "lib/gpu/dynamic_library.hpp"
#include "lib/gpu/gpu_vulkan.hpp"
#include "lib/gpu/hip_driver.hpp"
#include "lib/gpu/symbol_source.hpp"

namespace gar {
namespace {

constexpr std::array<const char*, 1> vulkan_libraries{"libvulkan.so.1"};

driver_capability present(const char* name, std::string found) {
  return {.name = name, .available = true, .why = {}, .found = std::move(found)};
}

driver_capability absent(const char* name, std::string why) {
  return {.name = name, .available = false, .why = std::move(why), .found = {}};
}

// Unavailable names its subject first, which here is the driver itself.
driver_capability absent(const char* name, const error& e) {
  const bool has_reason = e.code() == errc::Unavailable && !e.arguments().empty();
  return absent(name, has_reason ? e.arguments().back() : e.text());
}

driver_capability counted(const char* name, int count) {
  if (count == 0) return absent(name, "no device");
  return present(name, std::to_string(count) + (count == 1 ? " device" : " devices"));
}

// Asks CUDA, which the process may or may not have started, without starting it.
driver_capability count_if_started(const cuda_driver& driver) {
  int found = 0;
  const cuda::status status = driver.DeviceGetCount(&found);
  if (status == cuda::not_initialized) return present("cuda", "not started in this process yet");
  if (status == cuda::success) return counted("cuda", found);
  return absent("cuda", "cuDeviceGetCount failed with status " + std::to_string(status) + " (" +
                            driver.text_of(status) + ")");
}

}  // namespace

driver_capability probe_cuda(probe_depth depth, std::span<const char* const> libraries) {
  if (depth == probe_depth::full) {
    const result<cuda_driver> driver = cuda_driver::open(libraries);
    return driver ? counted("cuda", driver->device_count) : absent("cuda", driver.error());
  }
  const result<dynamic_library> library = dynamic_library::open(libraries, library_use::if_loaded);
  if (!library) return absent("cuda", library.error());
  const result<cuda_driver> driver = cuda_driver::resolve(symbol_source::of(*library));
  return driver ? count_if_started(*driver) : absent("cuda", driver.error());
}

driver_capability probe_hip(probe_depth depth, std::span<const char* const> libraries) {
  if (depth == probe_depth::full) {
    const result<hip_driver> driver = hip_driver::open(libraries);
    return driver ? counted("hip", driver->device_count) : absent("hip", driver.error());
  }
  const result<dynamic_library> library = dynamic_library::open(libraries, library_use::if_loaded);
  if (!library) return absent("hip", library.error());
  // HIP has no call that counts without starting it.
  const result<hip_driver> driver = hip_driver::resolve(symbol_source::of(*library));
  return driver ? present("hip", library->name()) : absent("hip", driver.error());
}

driver_capability probe_vulkan(probe_depth depth) {
  if (depth == probe_depth::full || !vulkan_is_built()) {
    result<std::string> device = usable_vulkan_device();
    return device ? present("vulkan", *device) : absent("vulkan", device.error());
  }
  result<dynamic_library> library = dynamic_library::open(vulkan_libraries, library_use::if_loaded);
  if (!library) return absent("vulkan", library.error());
  if (!library->symbol<void (*)()>("vkGetInstanceProcAddr")) {
    return absent("vulkan", library->name() + " does not export vkGetInstanceProcAddr");
  }
  return present("vulkan", library->name());
}

std::vector<driver_capability> probe_drivers(probe_depth depth) {
  return {probe_cuda(depth, cuda_libraries), probe_hip(depth, hip_libraries), probe_vulkan(depth),
          present("sim", {})};
}

}  // namespace gar
