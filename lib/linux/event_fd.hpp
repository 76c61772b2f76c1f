// Event descriptor: lets one thread end another's wait for readiness.
//
// Model: raised or not; raising twice is raising once. `lower` makes it unreadable again.
// For use within one process: a peer that shared it could fill it and make raising block.
//
// Threads: raise and lower by any. Blocking: none. Errors: make fails with SystemCall.
#pragma once

#include "lib/core/error.hpp"
#include "lib/linux/unique_fd.hpp"

namespace gar {

class event_fd {
 public:
  static result<event_fd> make();

  // Readable while raised.
  int fd() const { return fd_.get(); }
  void raise() const;
  void lower() const;

 private:
  explicit event_fd(unique_fd fd) : fd_(std::move(fd)) {}
  unique_fd fd_;
};

}  // namespace gar
