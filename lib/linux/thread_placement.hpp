// Thread placement: the calling thread's name, CPU and scheduling.
//
// Threads: what is set is the calling thread's. Blocking, allocation: no.
// Errors: SystemCall, with the kernel's reason.
#pragma once

#include "lib/core/error.hpp"

namespace gar {

// Shown by ps and top; cut to 15 bytes.
void name_thread(const char* name);
result<void> pin_thread(unsigned cpu);
// Real-time, before every ordinary thread of its CPU. Needs CAP_SYS_NICE or an rtprio limit.
result<void> schedule_fifo(int priority);

}  // namespace gar
