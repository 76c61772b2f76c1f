// Output reader: is there still somebody who reads what a program writes?
//
// A program that writes seldom learns of a reader who has left only by its next write, and goes on
// until then: `PROGRAM | head -1`.
//
// Threads: any. Blocking: never. Errors: none; a descriptor that is none, a file and a terminal
// that is there have not lost their reader.
#pragma once

#include <poll.h>

namespace gar {

inline bool reader_left(int fd) {
  pollfd one{fd, 0, 0};
  return ::poll(&one, 1, 0) > 0 && (one.revents & (POLLERR | POLLHUP)) != 0;
}

}  // namespace gar
