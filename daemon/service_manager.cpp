#include "daemon/service_manager.hpp"

#include <fmt/core.h>

#include <string>

#if GAR_HAVE_LIBSYSTEMD
#include <systemd/sd-daemon.h>
#endif

namespace gar {
namespace {

#if GAR_HAVE_LIBSYSTEMD
void notify(const std::string& state) {
  (void)::sd_notify(0, state.c_str());
}
#else
void notify(const std::string&) {}
#endif

}  // namespace

void notify_ready(std::string_view status) {
  notify(fmt::format("READY=1\nSTATUS={}", status));
}

void notify_status(std::string_view status) {
  notify(fmt::format("STATUS={}", status));
}

void notify_reloading(instant at) {
  notify(fmt::format("RELOADING=1\nMONOTONIC_USEC={}\nSTATUS=reading the configuration again",
                     at.ns / 1000));
}

void notify_stopping() {
  notify("STOPPING=1\nSTATUS=stopping");
}

void notify_watchdog() {
  notify("WATCHDOG=1");
}

std::optional<duration> watchdog_interval() {
#if GAR_HAVE_LIBSYSTEMD
  uint64_t allowed_us = 0;
  if (::sd_watchdog_enabled(0, &allowed_us) > 0) return from_us(allowed_us) / 2;
#endif
  return std::nullopt;
}

}  // namespace gar
