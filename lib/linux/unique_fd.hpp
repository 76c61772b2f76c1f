// A file descriptor with one owner, closed when the owner goes.
//
// Ownership: the object. `release` gives the number away; the receiver closes it.
// Threads: a value. Blocking: close may, as the kernel does; its failure is not reported, since the
// number is gone either way.
#pragma once

#include <unistd.h>

#include <utility>

namespace gar {

class unique_fd {
 public:
  unique_fd() = default;
  explicit unique_fd(int fd) : fd_(fd) {}
  unique_fd(unique_fd&& other) noexcept : fd_(other.release()) {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~unique_fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    const int old = std::exchange(fd_, fd);
    if (old >= 0) ::close(old);
  }

 private:
  int fd_ = -1;
};

}  // namespace gar
