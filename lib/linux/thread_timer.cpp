#include "lib/linux/thread_timer.hpp"

#include <cerrno>

#include "lib/linux/futex.hpp"
#include "lib/linux/steady_clock.hpp"
#include "lib/linux/system_call.hpp"

namespace gar {

result<void> thread_timer::sleep_until(instant at) const {
  const timespec deadline = to_timespec(at);
  for (;;) {
    const int refused = ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, nullptr);
    if (refused == 0) return {};
    if (refused != EINTR) return system_error("clock_nanosleep", refused);
  }
}

void interrupt_word::interrupt() {
  std::atomic_ref<uint32_t>(word_).store(1, std::memory_order_release);
  futex_wake(word_);
}

void interrupt_word::wait_until(instant at) const {
  while (!interrupted()) {
    if (futex_wait(word_, 0, at) == futex_ended::timed_out) return;
  }
}

result<void> interruptible_timer::sleep_until(instant at) const {
  word_->wait_until(at);
  if (word_->interrupted()) return error(errc::Cancelled);
  return {};
}

}  // namespace gar
