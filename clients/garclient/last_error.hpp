// Last error: what the last failed call on this thread was told, for gar_last_error.
//
// Threads: each has its own. Allocation: the text, when a call fails.
#pragma once

#include <cstddef>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "lib/core/error.hpp"

namespace gar::owner {

struct last_error {
  int number = 0;
  std::string text;
};

last_error& last_error_here();

// Of what was thrown where no exception may leave; without its text where there is no memory.
inline error of_exception(const std::exception& e) noexcept {
  try {
    return error(errc::SystemCall, {"an internal call", e.what()});
  } catch (const std::bad_alloc&) {
    return error(errc::SystemCall);
  }
}

// Remembers it, without its text where there is no memory for that, and gives its number.
int failed(const error& e) noexcept;
int failed_for_memory() noexcept;

// As much of `said` as fits, whole characters, ended by NUL; nothing where there is no room for
// that.
void copy_text(std::string_view said, char* text, size_t capacity_bytes);

// Runs one entry of the C interface: no exception crosses it.
template <class F>
int entry(F&& body) noexcept {
  try {
    const result<void> r = body();
    return r ? 0 : failed(r.error());
  } catch (const std::bad_alloc&) {
    return failed_for_memory();
  } catch (const std::exception& e) {
    return failed(of_exception(e));
  }
}

}  // namespace gar::owner
