// Timer slack: how late the kernel may make this thread's sleeps to save power.
//
// By default a sleep of 100 us may end 50 us late for nothing but the kernel's convenience. A
// thread whose sleeps end in front of a completion asks for 1 ns. Slack belongs to the thread.
//
// Threads: what is read and set is the calling thread's. Blocking, allocation: no.
// Errors: SystemCall when the kernel refuses, or when reading back shows another value.
// Units: ns.
#pragma once

#include <cstdint>

#include "lib/core/error.hpp"

namespace gar {

inline constexpr uint64_t timer_slack_ns_least = 1;  // 0 would mean "the default again"

result<uint64_t> timer_slack_ns();

// Sets and reads back. A real-time thread has no slack at all and reads as 0, which is as good.
result<void> set_timer_slack_ns(uint64_t slack_ns);

// The least slack while it lives, then what was before: for threads that are not ours to change.
// Does nothing where the kernel refuses.
class least_timer_slack {
 public:
  least_timer_slack();
  ~least_timer_slack();
  least_timer_slack(const least_timer_slack&) = delete;
  least_timer_slack& operator=(const least_timer_slack&) = delete;

 private:
  uint64_t before_ns_ = 0;  // 0: nothing to restore
};

}  // namespace gar
