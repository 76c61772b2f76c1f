#include "lib/linux/pipe_signal.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "lib/linux/system_call.hpp"

namespace gar {

// A read() asks the description whether it may wait, and its other holder can change that. The two
// calls that are told so themselves come first; a sandbox may know neither.
void drain_pipe(int read_end) {
  std::array<char, 64> bytes;
  const iovec into{bytes.data(), bytes.size()};
  if (::vmsplice(read_end, &into, 1, SPLICE_F_NONBLOCK) >= 0 || errno == EAGAIN) return;
  if (::preadv2(read_end, &into, 1, -1, RWF_NOWAIT) >= 0 || errno == EAGAIN) return;
  pollfd there = {read_end, POLLIN, 0};
  if (::poll(&there, 1, 0) != 1) return;
  [[maybe_unused]] const ssize_t got = ::read(read_end, bytes.data(), bytes.size());
}

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
  drain_pipe(read_.get());
}

}  // namespace gar
