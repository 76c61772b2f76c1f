#include "lib/linux/thread_placement.hpp"

#include <pthread.h>
#include <sched.h>

#include <string>

#include "lib/linux/system_call.hpp"

namespace gar {

void name_thread(const char* name) {
  ::pthread_setname_np(::pthread_self(), std::string(name).substr(0, 15).c_str());
}

result<void> pin_thread(unsigned cpu) {
  if (cpu >= CPU_SETSIZE) {
    return system_error("sched_setaffinity to CPU " + std::to_string(cpu), EINVAL);
  }
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(cpu, &only);
  if (::sched_setaffinity(0, sizeof(only), &only) != 0) {
    return last_system_error("sched_setaffinity to CPU " + std::to_string(cpu));
  }
  return {};
}

result<void> schedule_fifo(int priority) {
  const sched_param how{.sched_priority = priority};
  const int refused = ::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &how);
  if (refused != 0) return system_error("SCHED_FIFO priority " + std::to_string(priority), refused);
  return {};
}

}  // namespace gar
