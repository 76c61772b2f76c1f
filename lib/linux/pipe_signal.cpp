#include "lib/linux/pipe_signal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string>

#include "lib/linux/system_call.hpp"

namespace gar {

result<pipe_signal> pipe_signal::join(int read_end) {
  unique_fd read(::fcntl(read_end, F_DUPFD_CLOEXEC, 0));
  if (!read) return last_system_error("fcntl");
  const std::string path = "/proc/self/fd/" + std::to_string(read.get());
  unique_fd write(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  if (!write) return last_system_error("open");
  return pipe_signal(std::move(read), std::move(write));
}

void pipe_signal::raise() const {
  // A pipe that is full has been raised.
  [[maybe_unused]] const ssize_t written = ::write(write_.get(), "", 1);
}

void pipe_signal::lower() const {
  std::array<char, 64> bytes;
  // One byte for each time that it was raised, so one read takes all but a liar's.
  [[maybe_unused]] const ssize_t got = ::read(read_.get(), bytes.data(), bytes.size());
}

}  // namespace gar
