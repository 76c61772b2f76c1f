// Pipe signal: makes a pipe readable that another process makes readable too.
//
// A program that polls wants one descriptor; gard signals through a pipe, and the library has ends
// of its own to show. A descriptor over both (an epoll in the program's epoll) is woken through two
// waiting queues. So the library writes to gard's pipe as well.
//
//   gard's write end ──┐
//                      ├── the pipe ── read end: the program polls it, and whoever takes empties it
//   our write end ─────┘
//
// Our write end is opened anew and is a description of its own: nobody else can make it block, and
// while it is open the pipe does not end with the other writer. The read end is the other process's
// as well, which can make a read of it block at any time: it is emptied by a call that never does,
// where this host has one (Linux has; a sandbox can refuse vmsplice and preadv2).
//
// Model: raising twice is raising once, whoever did it. Threads: raise and lower by any.
// Blocking: none. Errors: join fails with SystemCall where there is no /proc, or the pipe's maker
// lets nobody else write.
#pragma once

#include "lib/core/error.hpp"
#include "lib/linux/unique_fd.hpp"

namespace gar {

// Takes one byte for each time that the pipe was raised; of a liar's some.
void drain_pipe(int read_end);

class pipe_signal {
 public:
  // The read end stays the caller's.
  static result<pipe_signal> join(int read_end);

  // Readable while raised.
  int fd() const { return read_.get(); }
  void raise() const;
  void lower() const;

 private:
  pipe_signal(unique_fd read, unique_fd write) : read_(std::move(read)), write_(std::move(write)) {}
  unique_fd read_;
  unique_fd write_;
};

}  // namespace gar
