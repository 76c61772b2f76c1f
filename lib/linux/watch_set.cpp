#include "lib/linux/watch_set.hpp"

#include <sys/epoll.h>

#include "lib/linux/system_call.hpp"

namespace gar {

result<watch_set> watch_set::make() {
  unique_fd fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!fd) return last_system_error("epoll_create1");
  return watch_set(std::move(fd));
}

result<void> watch_set::add(int watched) const {
  epoll_event about{};
  about.events = EPOLLIN;
  about.data.fd = watched;
  if (::epoll_ctl(fd_.get(), EPOLL_CTL_ADD, watched, &about) == 0) return {};
  return last_system_error("epoll_ctl");
}

void watch_set::remove(int watched) const {
  ::epoll_ctl(fd_.get(), EPOLL_CTL_DEL, watched, nullptr);
}

}  // namespace gar
