#include "lib/linux/line_output.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace gar {

bool write_line_now(int fd, std::string_view line) {
  for (;;) {
    pollfd room = {fd, POLLOUT, 0};
    const int ready = ::poll(&room, 1, 0);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t bytes = ::write(fd, line.data(), line.size());
    if (bytes < 0 && errno == EINTR) continue;
    return bytes >= 0;
  }
}

}  // namespace gar
