// Fills in a gar_device_failure: the one place where a device's refusal gets its status and call.
//
// Threads: none of its own. Errors: a name longer than the field is cut, never overrun.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "lib/core/error.hpp"
#include "lib/port/gar_device.h"

namespace gar {

// Copies as much as the field holds and ends it in NUL.
template <size_t Bytes>
void fill_field(char (&field)[Bytes], std::string_view text) {
  field[text.copy(field, Bytes - 1)] = '\0';
}

// Answers GAR_FAILED, so that a verb can `return device_failed(...)`. `failure` may be null. `text`
// is the vendor's name and words for the status.
inline int device_failed(gar_device_failure* failure, int32_t status, std::string_view call,
                         std::string_view text = {}) {
  if (!failure) return GAR_FAILED;
  *failure = {};
  failure->status = status;
  fill_field(failure->call, call);
  fill_field(failure->text, text);
  return GAR_FAILED;
}

// Answers GAR_REFUSED with an error of the registry and its first two arguments.
inline int device_refused(gar_device_failure* failure, errc code, std::string_view first,
                          std::string_view second = {}) {
  device_failed(failure, static_cast<int32_t>(code), first, second);
  return GAR_REFUSED;
}

// May a device store there? A store must lie whole and aligned in its page.
inline bool store_fits(const gar_device_store& store) {
  return store.page && store.page->host && store.offset_bytes % sizeof(uint64_t) == 0 &&
         store.page->bytes >= sizeof(uint64_t) &&
         store.offset_bytes <= store.page->bytes - sizeof(uint64_t);
}

}  // namespace gar
