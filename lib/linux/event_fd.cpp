#include "lib/linux/event_fd.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "lib/linux/system_call.hpp"

namespace gar {

result<event_fd> event_fd::make() {
  unique_fd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd) return last_system_error("eventfd");
  return event_fd(std::move(fd));
}

void event_fd::raise() const {
  const uint64_t one = 1;
  // Refused only when it is raised to the brim already.
  [[maybe_unused]] const ssize_t written = ::write(fd_.get(), &one, sizeof(one));
}

void event_fd::lower() const {
  uint64_t raised = 0;
  [[maybe_unused]] const ssize_t read = ::read(fd_.get(), &raised, sizeof(raised));
}

}  // namespace gar
