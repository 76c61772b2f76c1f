// Inline host: runs a task to its end on the calling thread.
//
// The naive executor's workers and a waiting thread of the client library run waits this way: every
// port they hand in blocks instead of suspending. A task that suspends all the same has nobody who
// would ever resume it; that is a bug of the host, reported as PendedInline and never a hang.
//
// Threads: one host per thread. Blocking: as its ports do.
#pragma once

#include "lib/core/task.hpp"

namespace gar {

class inline_host {
 public:
  struct root {};
  template <class T = void>
  using task = basic_task<inline_host, T>;

  frame_pool& frames() { return frames_; }

  // PendedInline{site} if the task suspended; its frame is destroyed then.
  template <class T>
  outcome_of<T> run(basic_task<inline_host, T> t, const char* site) {
    root here;
    t.frame().promise().root = &here;
    t.frame().resume();
    if (!t.frame().done()) return error(errc::PendedInline, {site});
    if constexpr (std::is_void_v<T>) {
      t.frame().promise().take();
      return {};
    } else {
      return t.frame().promise().take();
    }
  }

 private:
  frame_pool frames_;
};

}  // namespace gar
