// Call trace: which system calls one thread makes, counted by name.
//
// `strace` attaches to the thread and writes down what it does until it is told to stop. It slows
// the thread and changes no count that is asked for here.
//
//   attached -> (the thread goes on) -> stopped: the counts
//
// A futex call goes by what it does, since one that wakes and one that sleeps are different costs:
// `futex wake`, `futex wait`. What was going on when strace came is not counted.
//
// Ownership: strace ends with the object. Threads: one. Blocking: attaching, stopping.
// Errors: cannot_measure where there is no strace, or it may not attach.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>

#include "bench/processes.hpp"
#include "lib/linux/unique_fd.hpp"

namespace gar::bench {

using call_counts = std::map<std::string, size_t>;

class call_trace {
 public:
  explicit call_trace(pid_t thread);
  ~call_trace();
  call_trace(const call_trace&) = delete;
  call_trace& operator=(const call_trace&) = delete;

  call_counts stop();

 private:
  void await_attached();
  std::string said_more();

  std::string file_;
  unique_fd said_;  // strace's own words
  child strace_;
};

// The calls in what strace wrote.
call_counts count_calls(const std::string& text);

// The thread of a process that goes by this name; cannot_measure where there is none.
pid_t thread_named(pid_t process, const std::string& name);

}  // namespace gar::bench
