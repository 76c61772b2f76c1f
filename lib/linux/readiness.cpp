#include "lib/linux/readiness.hpp"

#include <poll.h>

#include <array>

#include "lib/core/error.hpp"
#include "lib/linux/steady_clock.hpp"

namespace gar {

void wait_readable(std::span<watched_fd> watched, instant until) {
  GAR_ASSERT(watched.size() <= watched_fds_max);
  std::array<pollfd, watched_fds_max> polled{};
  for (size_t i = 0; i < watched.size(); ++i) {
    polled[i] = {watched[i].fd, POLLIN, 0};
    watched[i].ready = false;
  }
  timespec left{};
  if (until != instant::never()) left = to_timespec({(until - steady_clock().now()).ns});
  const int ready =
      ::ppoll(polled.data(), watched.size(), until == instant::never() ? nullptr : &left, nullptr);
  if (ready <= 0) return;
  for (size_t i = 0; i < watched.size(); ++i) watched[i].ready = polled[i].revents != 0;
}

}  // namespace gar
