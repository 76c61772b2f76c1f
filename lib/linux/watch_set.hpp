// Watch set: one descriptor that is readable while any of several is.
//
// Who is given it need not know how many there are, and it stays the same while they change.
//
// Threads: any. Blocking, allocation: no. Ownership: none of what is watched; remove it before it
// is closed, since a child of fork() may still hold it open.
// Errors: SystemCall.
#pragma once

#include "lib/core/error.hpp"
#include "lib/linux/unique_fd.hpp"

namespace gar {

class watch_set {
 public:
  static result<watch_set> make();

  int fd() const { return fd_.get(); }
  result<void> add(int watched) const;
  void remove(int watched) const;

 private:
  explicit watch_set(unique_fd fd) : fd_(std::move(fd)) {}
  unique_fd fd_;
};

}  // namespace gar
