// Signals blocked: while it lives, the calling thread takes no signal that is meant for the
// process.
//
// A thread inherits what its maker blocks. A library makes its threads under this, so that a
// program's handlers run on the program's threads, as they did without the library.
//
// What a thread brings upon itself (SIGSEGV and the like) and a profiler's tick stay as they were.
// Threads: the calling one, which must also end it. Blocking, allocation, errors: none.
#pragma once

#include <csignal>

namespace gar {

class signals_blocked {
 public:
  signals_blocked() {
    sigset_t others;
    sigfillset(&others);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF}) {
      sigdelset(&others, own);
    }
    ::pthread_sigmask(SIG_BLOCK, &others, &before_);
  }
  ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace gar
