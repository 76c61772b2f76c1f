// Service manager: what gard tells systemd, where systemd wants to hear it.
//
// Model: READY once both sockets listen, STATUS whenever it changed, RELOADING around a reload,
// WATCHDOG while all threads turn, STOPPING at the end. Without NOTIFY_SOCKET, or in a build
// without libsystemd, every call does nothing. Errors: none reported; a manager that cannot be told
// changes nothing for the clients. Threads: any. Blocking: one datagram to the manager's socket.
#pragma once

#include <optional>
#include <string_view>

#include "lib/core/time.hpp"

namespace gar {

void notify_ready(std::string_view status);
void notify_status(std::string_view status);
// `at` is the monotonic time of the reload; end it with notify_ready.
void notify_reloading(instant at);
void notify_stopping();
void notify_watchdog();

// How often the manager wants to hear notify_watchdog: half of what it allows. nullopt: it does
// not.
std::optional<duration> watchdog_interval();

}  // namespace gar
