// Allocations that fail when a test says so, and a count of them, thread by thread: by replacing
// the program's operator new (scarce_memory.cpp).
//
// The thread sanitizer owns operator new, so that such a program is left out there.
#pragma once

#include <cstdint>

namespace gar::test {

struct memory_of_thread {
  uint64_t allocations = 0;
  // How many go well until one fails, once; or all fail.
  uint64_t good = UINT64_MAX;
  bool none_left = false;

  bool refuses() {
    ++allocations;
    if (none_left) return true;
    if (good == UINT64_MAX || good-- > 0) return false;
    good = UINT64_MAX;
    failed = true;
    return true;
  }
  bool failed = false;  // the one that was to
};
inline thread_local memory_of_thread memory;

// Calls with the n-th allocation of this thread failing. false: it does not come to that many.
template <class Call>
bool with_failure_at(uint64_t n, Call&& call) {
  memory.failed = false;
  memory.good = n;
  call();
  memory.good = UINT64_MAX;
  return memory.failed;
}

}  // namespace gar::test
