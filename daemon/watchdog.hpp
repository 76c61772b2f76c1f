// Watchdog: tells the service manager, as often as it asked for, that gard still turns.
//
// Invariants: without a manager that asks there is no timer, so an idle gard makes no wakeup.
// A word goes out only when the io thread turned and the waits' thread is alive (liveness.hpp).
// Threads: the io thread. Blocking: no.
// Ownership: ends with its destructor, which comes before its io context's.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lib/core/node_snapshot.hpp"

namespace boost::asio {
class io_context;
}

namespace gar {

// "3 clients, 8 streams, 2 waits pending"
std::string status_line(const status_snapshot& s);

class watchdog {
 public:
  // `status` is asked for with each word to the manager, which shows `status_line` of it.
  watchdog(boost::asio::io_context& io, std::function<status_snapshot()> status);
  ~watchdog();

 private:
  class ticking;
  std::shared_ptr<ticking> ticking_;
};

}  // namespace gar
