#include "lib/gpu/driver_probe.hpp"

#include <array>
#include <utility>

#include "lib/gpu/dynamic_library.hpp"
#include "lib/gpu/gpu_vulkan.hpp"

namespace gar {
namespace {

constexpr std::array<const char*, 1> cuda_libraries{"libcuda.so.1"};
constexpr std::array<const char*, 3> hip_libraries{"libamdhip64.so.7", "libamdhip64.so.6",
                                                   "libamdhip64.so.5"};
constexpr std::array<const char*, 1> vulkan_libraries{"libvulkan.so.1"};

// The vendors' calls and numbers that a probe needs; both count with plain C signatures.
using init_call = int (*)(unsigned flags);
using count_call = int (*)(int* count);
constexpr int cuda_not_initialized = 3;
constexpr int cuda_stub_library = 34;

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

library_use use_at(probe_depth depth) {
  return depth == probe_depth::full ? library_use::load : library_use::if_loaded;
}

// What the two vendors' probes have in common: their names differ, their shape does not.
struct counting_driver {
  const char* name;
  const char* init_name;
  const char* count_name;
};
constexpr counting_driver cuda{"cuda", "cuInit", "cuDeviceGetCount"};
constexpr counting_driver hip{"hip", "hipInit", "hipGetDeviceCount"};

driver_capability refused(const counting_driver& driver, const char* call, int status) {
  std::string why = std::string(call) + " failed with status " + std::to_string(status);
  if (driver.name == cuda.name && status == cuda_stub_library) {
    why += ": this is the stub library, there is no driver";
  }
  return absent(driver.name, std::move(why));
}

driver_capability counted(const counting_driver& driver, int count) {
  if (count == 0) return absent(driver.name, "no device");
  return present(driver.name, std::to_string(count) + (count == 1 ? " device" : " devices"));
}

driver_capability start_and_count(const counting_driver& driver, init_call init, count_call count) {
  int found = 0;
  if (int status = init(0); status != 0) return refused(driver, driver.init_name, status);
  if (int status = count(&found); status != 0) return refused(driver, driver.count_name, status);
  return counted(driver, found);
}

// Asks CUDA, which the process may or may not have started, without starting it.
driver_capability count_if_started(count_call count) {
  int found = 0;
  const int status = count(&found);
  if (status == cuda_not_initialized) return present(cuda.name, "not started in this process yet");
  return status == 0 ? counted(cuda, found) : refused(cuda, cuda.count_name, status);
}

struct resolved_driver {
  driver_capability answer;  // as far as it is known without calling anything
  init_call init = nullptr;
  count_call count = nullptr;
};

resolved_driver resolve(const counting_driver& driver, const dynamic_library& library) {
  resolved_driver found;
  found.init = library.symbol<init_call>(driver.init_name);
  found.count = library.symbol<count_call>(driver.count_name);
  for (auto [address, symbol] : {std::pair{reinterpret_cast<void*>(found.init), driver.init_name},
                                 {reinterpret_cast<void*>(found.count), driver.count_name}}) {
    if (address) continue;
    found.answer = absent(driver.name, library.name() + " does not export " + symbol);
    return found;
  }
  found.answer = present(driver.name, library.name());
  return found;
}

}  // namespace

driver_capability probe_cuda(probe_depth depth, std::span<const char* const> libraries) {
  result<dynamic_library> library = dynamic_library::open(libraries, use_at(depth));
  if (!library) return absent(cuda.name, library.error());
  const resolved_driver found = resolve(cuda, *library);
  if (!found.answer.available) return found.answer;
  return depth == probe_depth::full ? start_and_count(cuda, found.init, found.count)
                                    : count_if_started(found.count);
}

driver_capability probe_hip(probe_depth depth, std::span<const char* const> libraries) {
  result<dynamic_library> library = dynamic_library::open(libraries, use_at(depth));
  if (!library) return absent(hip.name, library.error());
  const resolved_driver found = resolve(hip, *library);
  // HIP has no call that does not start it.
  if (!found.answer.available || depth == probe_depth::loaded) return found.answer;
  return start_and_count(hip, found.init, found.count);
}

driver_capability probe_vulkan(probe_depth depth) {
  if (depth == probe_depth::full || !vulkan_is_built()) {
    result<std::string> device = usable_vulkan_device();
    return device ? present("vulkan", *device) : absent("vulkan", device.error());
  }
  result<dynamic_library> library = dynamic_library::open(vulkan_libraries, use_at(depth));
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
