#include "lib/linux/ring_page.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/linux/futex.hpp"
#include "lib/linux/system_call.hpp"

namespace gar {

result<ring_page> ring_page::make(uint32_t entries) {
  const size_t bytes = proto::ring_bytes(entries);
  result<unique_fd> fd = make_memory_file("gar-ring", bytes);
  if (!fd) return fd.error();
  result<void> sealed = seal(fd->get(), sealing::fixed_size);
  if (!sealed) return sealed.error();
  result<mapping> map = mapping::of(fd->get(), bytes, map_access::read_write);
  if (!map) return map.error();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return last_system_error("pipe2");
  // Whoever has the read end may open a write end of its own, to show in the same descriptor what
  // does not come from gard. Where this is refused the client finds that out and does without.
  (void)::fchmod(ends[1], S_IRUSR | S_IWUSR | S_IWGRP | S_IWOTH);
  return ring_page(entries, std::move(*fd), std::move(*map), unique_fd(ends[0]),
                   unique_fd(ends[1]));
}

void ring_page::wake(client_ring& ring, uint32_t wants) const {
  if ((wants & proto::wants_futex) != 0) futex_wake(ring.raise_signal());
  if ((wants & proto::wants_pipe) != 0) {
    // A pipe that is full has been signalled. It is never broken: its read end is here too.
    const char byte = 1;
    [[maybe_unused]] const ssize_t written = ::write(pipe_write_.get(), &byte, 1);
  }
}

}  // namespace gar
