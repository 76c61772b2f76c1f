// Socket ring: messages of sockets as requests of a deadline_ring, so that one thread sleeps to its
// deadline, receives and sends by one ring.
//
// A receive takes its buffer when its message is there, from a ring of buffers that all sockets
// share: a thousand silent clients cost no thousand buffers. The buffer is the caller's from the
// end of the receive until it gives it back.
//
//   receive  prepared -> waiting (as long as nothing comes) -> ended, with a buffer or an error
//   send     prepared -> waiting (as long as the peer's buffer is full) -> ended
//
// Invariants: `incoming`, `outgoing` and the frame stay where they are until their request has
// ended; at most one of each is under way for each of them.
// Threads: one at a time, the deadline_ring's. Blocking: no. Allocation: at setup.
// Ownership: outlives the deadline_ring with which it was made; sockets stay the caller's.
// Errors: make gives SystemCall; a call that prepares says false where the kernel takes none now.
#pragma once

#include <liburing.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

#include "lib/core/error.hpp"
#include "lib/linux/deadline_ring.hpp"
#include "lib/linux/unix_socket.hpp"
#include "proto/limits.hpp"

namespace gar {

class socket_ring {
 public:
  // So many messages can be held at one time. A receive beyond ends with ENOBUFS.
  static constexpr uint16_t buffers = 64;

  // Gives the buffers to the kernel.
  static result<socket_ring> make(deadline_ring& ring);

  // Empty where messages come and go by the ring as they should on this kernel, else what it does
  // not do. Tries it; for a ring that nothing else was asked of yet.
  const char* failing_step(deadline_ring& ring);

  struct incoming {
    msghdr header;
    iovec part;
    alignas(cmsghdr) std::array<std::byte, control_bytes> control;
  };
  bool receive(deadline_ring& ring, int fd, incoming& in, uint64_t what);

  struct outgoing {
    msghdr header;
    iovec part;
    alignas(cmsghdr) std::array<std::byte, control_bytes> control;
  };
  // Ends when the message was taken whole, or never will be. No more than descriptors_max
  // descriptors, open until then.
  bool send(deadline_ring& ring, int fd, std::span<const std::byte> frame,
            std::span<const int> descriptors, outgoing& out, uint64_t what);

  // ---- Of a receive that ended without an error, or was given a buffer with it.
  static bool has_buffer(const deadline_ring::ended_request& e) {
    return (e.flags & IORING_CQE_F_BUFFER) != 0;
  }
  // The message lies at the start of it.
  std::span<const std::byte> buffer_of(const deadline_ring::ended_request& e) const;
  void give_back(const deadline_ring::ended_request& e);

 private:
  struct memory_end {
    void operator()(std::byte* m) const { std::free(m); }
  };
  using memory = std::unique_ptr<std::byte, memory_end>;
  socket_ring(memory entries, memory frames)
      : entries_(std::move(entries)), frames_(std::move(frames)) {}

  io_uring_buf_ring* entries() const {
    return reinterpret_cast<io_uring_buf_ring*>(entries_.get());
  }
  std::byte* frame(uint16_t number) const {
    return frames_.get() + size_t{number} * proto::frame_bytes_max;
  }
  void add(uint16_t number);

  memory entries_;
  memory frames_;
};

}  // namespace gar
