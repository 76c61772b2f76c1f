// The calling thread's own host of inline waits: its frames stay with it from wait to wait.
//
// Threads: each has its own. Allocation: the first call of a thread.
#pragma once

#include "lib/core/inline_host.hpp"

namespace gar::owner {

inline_host& thread_host();

}  // namespace gar::owner
