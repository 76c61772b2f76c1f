// A worker process, seen from the demo's parent.
//
// Model: started -> ready -> (told a slice -> answered)* -> ended, when its pipe is closed.
// Threads: one. Blocking: `receive`, until the worker answers; a signal ends it. Ownership: the
// destructor ends the process and collects it.
#pragma once

#include <sys/types.h>

#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <vector>

#include "clients/demo/failure.hpp"
#include "clients/demo/line_pipe.hpp"
#include "clients/demo/slice.hpp"
#include "clients/demo/worker.hpp"

namespace gar {

class worker_process {
 public:
  // Forks; the calling process must not have threads. `others` are closed in the child, which would
  // else keep their pipes open.
  static demo_result<worker_process> start(const worker_options& options,
                                           std::vector<worker_process>& others);
  worker_process(worker_process&& other) noexcept;
  worker_process& operator=(worker_process&&) = delete;
  ~worker_process();

  // The name of its device.
  demo_result<std::string> await_ready();
  // A slice of `waits` pieces, beginning with piece `first`; then `receive`.
  void tell(int plan, uint64_t first, uint32_t waits);
  demo_result<tally> receive();

 private:
  worker_process(pid_t pid, line_pipe pipe) : pid_(pid), pipe_(std::move(pipe)) {}
  demo_result<boost::json::value> receive_field(std::string_view field);
  demo_failure ended();

  pid_t pid_;  // 0: collected
  bool busy_ = false;
  std::optional<line_pipe> pipe_;
};

}  // namespace gar
