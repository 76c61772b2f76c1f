// Fatal: how gard ends for an error: one line that says what and what to do, and the exit status
// that the registry has for it, by which the service manager knows whether to try again.
//
// Threads: any. Blocking: the write of the line. Errors: none.
#pragma once

#include "lib/core/error.hpp"

namespace gar {

inline constexpr int internal_status = 70;
// io_uring served while gard started, and serves no more.
inline constexpr int ring_lost_status = 71;

// Says it; answers the exit status.
int fatal(const error& e);

// Says it and ends the process at once, without any clean-up: for a thread without which gard
// cannot go on. The kernel closes what clients hold on to, and they go on by themselves.
[[noreturn]] void end_at_once(const error& e, int exit_status);

}  // namespace gar
