// Fills in a gar_device_failure: the one place where a device's refusal gets its status and call.
//
// Threads: none of its own. Errors: a name longer than the field is cut, never overrun.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "lib/port/gar_device.h"

namespace gar {

// Answers GAR_FAILED, so that a verb can `return device_failed(...)`. `failure` may be null.
inline int device_failed(gar_device_failure* failure, int32_t status, std::string_view call) {
  if (!failure) return GAR_FAILED;
  *failure = {};
  failure->status = status;
  std::memcpy(failure->call, call.data(), std::min(call.size(), sizeof(failure->call) - 1));
  return GAR_FAILED;
}

// May a device store there? A store must lie whole and aligned in its page.
inline bool store_fits(const gar_device_store& store) {
  return store.page && store.page->host && store.offset_bytes % sizeof(uint64_t) == 0 &&
         store.page->bytes >= sizeof(uint64_t) &&
         store.offset_bytes <= store.page->bytes - sizeof(uint64_t);
}

}  // namespace gar
