#include "lib/gpu/cuda_driver.hpp"

#include <mutex>

namespace gar {
namespace {

error unavailable(std::string why) {
  return error(errc::Unavailable, {"cuda", std::move(why)});
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// What a call that starts the driver answered, where that was no success.
error refused(const cuda_driver& driver, const char* call, cuda::status status) {
  if (status == cuda::stub_library) {
    return unavailable(std::string(call) +
                       " failed with status 34: this is the stub library, there is no driver");
  }
  if (status == cuda::no_device) return unavailable("no device");
  std::string why = std::string(call) + " failed with status " + std::to_string(status);
  if (driver.GetErrorName) why += " (" + driver.text_of(status) + ")";
  return unavailable(std::move(why));
}

// The version comes first: an old driver lacks symbols because it is old.
result<void> ask_version(cuda_driver& driver) {
  if (cuda::status s = driver.DriverGetVersion(&driver.version); s != cuda::success) {
    return refused(driver, "cuDriverGetVersion", s);
  }
  if (driver.version >= cuda_version_min) return {};
  return unavailable("the driver is too old: it is made for CUDA " + version_text(driver.version) +
                     ", " + version_text(cuda_version_min) + " or later is needed");
}

result<void> start(cuda_driver& driver) {
  if (cuda::status s = driver.Init(0); s != cuda::success) return refused(driver, "cuInit", s);
  if (cuda::status s = driver.DeviceGetCount(&driver.device_count); s != cuda::success) {
    return refused(driver, "cuDeviceGetCount", s);
  }
  if (driver.device_count == 0) return unavailable("no device");
  return {};
}

}  // namespace

result<cuda_driver> cuda_driver::resolve(const symbol_source& source) {
  cuda_driver driver;
#define GAR_CUDA_FIND(member, symbol, ...) \
  driver.member = reinterpret_cast<cuda::functions::member*>(source.find(source.where, #symbol));
#define GAR_CUDA_NEED(member, symbol, ...) \
  if (!driver.member) return unavailable(source.name + " does not export " #symbol);
  GAR_CUDA_CALLS(GAR_CUDA_FIND)
  GAR_CUDA_OPTIONAL_CALLS(GAR_CUDA_FIND)
  GAR_CUDA_WORK_CALLS(GAR_CUDA_FIND)
  if (driver.DriverGetVersion) {
    if (result<void> asked = ask_version(driver); !asked) return asked.error();
  }
  GAR_CUDA_CALLS(GAR_CUDA_NEED)
#undef GAR_CUDA_NEED
#undef GAR_CUDA_FIND
  return driver;
}

result<cuda_driver> cuda_driver::from(const symbol_source& source) {
  result<cuda_driver> driver = resolve(source);
  if (!driver) return driver;
  if (result<void> started = start(*driver); !started) return started.error();
  return driver;
}

result<cuda_driver> cuda_driver::open(std::span<const char* const> libraries) {
  result<std::shared_ptr<const dynamic_library>> library = loaded_or_load(libraries);
  if (!library) return unavailable(library.error().arguments().back());
  result<cuda_driver> driver = from(symbol_source::of(**library));
  if (driver) driver->library_ = std::move(*library);
  return driver;
}

result<const cuda_driver*> cuda_driver::process() {
  static std::mutex lock;
  static const cuda_driver* made = nullptr;  // never destroyed: used until the process ends
  std::lock_guard hold(lock);
  if (made) return made;
  result<cuda_driver> driver = open(cuda_libraries);
  if (!driver) return driver.error();
  made = new cuda_driver(std::move(*driver));
  return made;
}

std::string cuda_driver::text_of(cuda::status status) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (GetErrorName(status, &name) != cuda::success || !name) return "unknown status";
  if (!GetErrorString || GetErrorString(status, &text) != cuda::success || !text) return name;
  return std::string(name) + ": " + text;
}

}  // namespace gar
