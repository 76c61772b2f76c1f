#include "lib/linux/state_page.hpp"

#include <sched.h>
#include <time.h>

namespace gar {

result<state_page_owner> state_page_owner::make() {
  const size_t bytes = system_page_bytes();
  result<unique_fd> fd = make_memory_file("gar-state", bytes);
  if (!fd) return fd.error();
  // The seal spares only the mappings that are there already.
  result<mapping> map = mapping::of(fd->get(), bytes, map_access::read_write);
  if (!map) return map.error();
  result<void> sealed = seal(fd->get(), sealing::maker_writes);
  if (!sealed) return sealed.error();
  state_page_owner made(std::move(*fd), std::move(*map));
  made.announce_awake();
  return made;
}

result<state_page_view> state_page_view::receive(unique_fd fd, size_t bytes) {
  if (bytes < sizeof(proto::state_page)) {
    return error(errc::MalformedMessage, {"a state page of " + std::to_string(bytes) + " bytes"});
  }
  result<void> checked =
      check_memory_file(fd.get(), bytes, sealing::maker_writes, "the state page");
  if (!checked) return checked.error();
  result<mapping> map = mapping::of(fd.get(), bytes, map_access::read_only);
  if (!map) return map.error();
  return state_page_view(std::move(*map));
}

bool state_page_view::wake_reactor() const {
  // The reactor needs less than a microsecond from its announcement to its sleep, or a time slice
  // where it was preempted in between. A state that lies for ever must not hold a client for ever.
  constexpr int yields_max = 100;
  constexpr int tries_max = 200;
  constexpr timespec between_tries{0, 100'000};
  for (int i = 0; i < tries_max && state() == proto::reactor_asleep; ++i) {
    if (futex_wake(page().reactor_state) > 0) return true;
    if (i < yields_max) {
      ::sched_yield();
    } else {
      ::clock_nanosleep(CLOCK_MONOTONIC, 0, &between_tries, nullptr);
    }
  }
  return state() != proto::reactor_asleep;
}

}  // namespace gar
