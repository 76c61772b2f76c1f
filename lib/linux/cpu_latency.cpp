#include "lib/linux/cpu_latency.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "lib/linux/system_call.hpp"

namespace gar {
namespace {

constexpr int32_t latency_any_us = 2'000'000'000;  // the kernel's own default

error refused(const char* call, int number) {
  return system_error(std::string(call) + " of " + cpu_latency_device, number);
}

}  // namespace

result<cpu_latency> cpu_latency::open(const char* device) {
  unique_fd fd(::open(device, O_RDWR | O_CLOEXEC));
  if (fd.get() < 0) return system_error(std::string("open of ") + device, errno);
  return cpu_latency(std::move(fd));
}

result<void> cpu_latency::hold() {
  result<void> asked = ask_for(0);
  if (!asked) return asked;
  int32_t now_us = -1;
  const ssize_t got = ::pread(fd_.get(), &now_us, sizeof(now_us), 0);
  if (got < 0) return refused("read", errno);
  if (got != sizeof(now_us) || now_us != 0) {
    return error(errc::SystemCall, {std::string("write of ") + cpu_latency_device,
                                    "the kernel stays at " + std::to_string(now_us) + " us"});
  }
  return {};
}

result<void> cpu_latency::release() {
  return ask_for(latency_any_us);
}

result<void> cpu_latency::ask_for(int32_t latency_us) {
  const ssize_t put = ::pwrite(fd_.get(), &latency_us, sizeof(latency_us), 0);
  if (put == sizeof(latency_us)) return {};
  return refused("write", put < 0 ? errno : EIO);
}

}  // namespace gar
