// A client's ring as gard holds it: the memory that both write, and gard's end of the pipe.
//
// The pipe is for clients that wait in poll or epoll: its read end goes to the client, gard keeps
// the write end for itself, so that nobody else can make it block. A full pipe has been signalled.
//
// Invariants: sealed before its descriptor can be asked for; both ends close on exec and never
// block. Threads: `wake` by the thread that ends waits; the rest is constant. Blocking: no.
// Ownership: memory, descriptors and mapping go with the object.
// Errors: those of memory_file.hpp; SystemCall for the pipe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "lib/core/client_ring.hpp"
#include "lib/linux/memory_file.hpp"

namespace gar {

class ring_page {
 public:
  static result<ring_page> make(uint32_t entries);

  int fd() const { return fd_.get(); }
  int pipe_fd() const { return pipe_read_.get(); }
  // The highest number of its descriptors.
  int highest_fd() const { return std::max({fd_.get(), pipe_read_.get(), pipe_write_.get()}); }
  std::byte* data() const { return static_cast<std::byte*>(map_.data()); }
  uint32_t entries() const { return entries_; }

  // `wants`: as client_ring::take_wants said; `ring` is of this memory.
  void wake(client_ring& ring, uint32_t wants) const;

 private:
  ring_page(uint32_t entries, unique_fd fd, mapping map, unique_fd pipe_read, unique_fd pipe_write)
      : entries_(entries),
        fd_(std::move(fd)),
        map_(std::move(map)),
        pipe_read_(std::move(pipe_read)),
        pipe_write_(std::move(pipe_write)) {}

  uint32_t entries_;
  unique_fd fd_;
  mapping map_;
  unique_fd pipe_read_;
  unique_fd pipe_write_;
};

}  // namespace gar
