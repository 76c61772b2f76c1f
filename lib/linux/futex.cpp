#include "lib/linux/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "lib/core/error.hpp"
#include "lib/linux/steady_clock.hpp"

namespace gar {

futex_ended futex_wait(const uint32_t& word, uint32_t expected, instant until) {
  const timespec deadline = to_timespec(until);
  const timespec* bound = until == instant::never() ? nullptr : &deadline;
  const long rc = ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, expected, bound, nullptr,
                            FUTEX_BITSET_MATCH_ANY);
  if (rc == 0) return futex_ended::look_again;
  if (errno == ETIMEDOUT) return futex_ended::timed_out;
  GAR_ASSERT(errno == EAGAIN || errno == EINTR);
  return futex_ended::look_again;
}

int futex_wake(const uint32_t& word) {
  const long woken = ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  GAR_ASSERT(woken >= 0);
  return static_cast<int>(woken);
}

}  // namespace gar
