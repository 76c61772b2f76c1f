#include "lib/gpu/hip_driver.hpp"

#include <mutex>

namespace gar {
namespace {

error unavailable(std::string why) {
  return error(errc::Unavailable, {"hip", std::move(why)});
}

std::string version_text(int version) {
  return std::to_string(version / 10'000'000) + "." +
         std::to_string(version % 10'000'000 / 100'000);
}

// What a call that starts the runtime answered, where that was no success.
error refused(const hip_driver& driver, const char* call, hip::status status) {
  (void)driver.GetLastError();  // it is reported here, and must not surface elsewhere
  if (status == hip::no_device || status == hip::invalid_device) {
    return unavailable("no device (" + std::string(call) + " failed with status " +
                       std::to_string(status) + ")");
  }
  return unavailable(std::string(call) + " failed with status " + std::to_string(status) + " (" +
                     driver.text_of(status) + ")");
}

// The version comes first: an old runtime lacks symbols because it is old. One that does not tell
// without a device is asked for that below.
result<void> ask_version(hip_driver& driver) {
  if (driver.RuntimeGetVersion(&driver.version) != hip::success) return {};
  if (driver.version >= hip_version_min) return {};
  return unavailable("the runtime is too old: it is HIP " + version_text(driver.version) + ", " +
                     version_text(hip_version_min) + " or later is needed");
}

result<void> start(hip_driver& driver) {
  if (hip::status s = driver.Init(0); s != hip::success) return refused(driver, "hipInit", s);
  if (hip::status s = driver.GetDeviceCount(&driver.device_count); s != hip::success) {
    return refused(driver, "hipGetDeviceCount", s);
  }
  if (driver.device_count == 0) return unavailable("no device");
  return {};
}

}  // namespace

result<hip_driver> hip_driver::resolve(const symbol_source& source) {
  hip_driver driver;
#define GAR_HIP_FIND(member, symbol, ...) \
  driver.member = reinterpret_cast<hip::functions::member*>(source.find(source.where, #symbol));
#define GAR_HIP_NEED(member, symbol, ...) \
  if (!driver.member) return unavailable(source.name + " does not export " #symbol);
  GAR_HIP_CALLS(GAR_HIP_FIND)
  GAR_HIP_OPTIONAL_CALLS(GAR_HIP_FIND)
  GAR_HIP_WORK_CALLS(GAR_HIP_FIND)
  if (driver.RuntimeGetVersion) {
    if (result<void> asked = ask_version(driver); !asked) return asked.error();
  }
  GAR_HIP_CALLS(GAR_HIP_NEED)
#undef GAR_HIP_NEED
#undef GAR_HIP_FIND
  if (!driver.StreamGetDevice && !driver.GetStreamDeviceId) {
    return unavailable(source.name +
                       " exports neither hipStreamGetDevice nor hipGetStreamDeviceId");
  }
  return driver;
}

result<hip_driver> hip_driver::from(const symbol_source& source) {
  result<hip_driver> driver = resolve(source);
  if (!driver) return driver;
  if (result<void> started = start(*driver); !started) return started.error();
  return driver;
}

result<hip_driver> hip_driver::open(std::span<const char* const> libraries) {
  result<std::shared_ptr<const dynamic_library>> library = loaded_or_load(libraries);
  if (!library) return unavailable(library.error().arguments().back());
  result<hip_driver> driver = from(symbol_source::of(**library));
  if (driver) driver->library_ = std::move(*library);
  return driver;
}

result<const hip_driver*> hip_driver::process() {
  static std::mutex lock;
  static const hip_driver* made = nullptr;  // never destroyed: used until the process ends
  std::lock_guard hold(lock);
  if (made) return made;
  result<hip_driver> driver = open(hip_libraries);
  if (!driver) return driver.error();
  made = new hip_driver(std::move(*driver));
  return made;
}

std::string hip_driver::text_of(hip::status status) const {
  const char* name = GetErrorName(status);
  const char* text = GetErrorString(status);
  if (!name) return "unknown status";
  return text ? std::string(name) + ": " + text : name;
}

}  // namespace gar
