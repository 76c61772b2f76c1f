// Asynchronous wait: one wait that is a task of the service thread.
//
// Threads: made by the caller, the service thread's from then on.
#pragma once

#include <cstdint>

#include "clients/garclient/wait_order.hpp"
#include "lib/core/reactor.hpp"

namespace gar::owner {

struct async_wait {
  wait_order order;
  uint64_t ticket = 0;
  void* user_data = nullptr;
  errc why_cancelled = errc::Cancelled;

  reactor* host = nullptr;
  reactor::root* root = nullptr;  // set when it is spawned

  frame_pool& frames() { return host->frames(); }
};

}  // namespace gar::owner
