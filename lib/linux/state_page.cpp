#include "lib/linux/state_page.hpp"

#include <sched.h>

#include "lib/linux/steady_clock.hpp"

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

// Whom it woke it cannot know: any process may sleep on the word. Who needs to be sure looks later
// whether its request was taken.
bool state_page_view::wake_reactor() const {
  // The reactor needs less than a microsecond from its announcement to its sleep, or a time slice
  // where it was preempted in between. Past this the caller has a message to send, which cannot be
  // lost; on a busy machine a single yield may take longer.
  constexpr duration tries_last = from_ms(1);
  steady_clock clock;
  const instant give_up = clock.now() + tries_last;
  while (state() == proto::reactor_asleep) {
    if (futex_wake(page().reactor_state) > 0) return true;
    if (clock.now() >= give_up) break;
    ::sched_yield();
  }
  return state() != proto::reactor_asleep;
}

}  // namespace gar
