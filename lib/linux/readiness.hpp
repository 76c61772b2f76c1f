// Readiness: sleep until one of a few descriptors is readable or an instant has come.
//
// Threads: any. Blocking: until then. Allocation: none. Errors: none a caller could act on; an
// interrupted wait returns early, and every return means "look again".
#pragma once

#include <span>

#include "lib/core/time.hpp"

namespace gar {

struct watched_fd {
  int fd = -1;         // negative: ignored
  bool ready = false;  // readable, ended or broken
};

inline constexpr size_t watched_fds_max = 8;

// Sets `ready` of each.
void wait_readable(std::span<watched_fd> watched, instant until);

}  // namespace gar
