// Watchdog: tells the service manager, as often as it asked for, that gard still turns.
//
// Invariants: without a manager that asks there is no timer, so an idle gard makes no wakeup.
// Threads: the io thread; a word goes out only when that thread turned. Blocking: no.
// Ownership: ends with its destructor, which comes before its io context's.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace boost::asio {
class io_context;
}

namespace gar {

class watchdog {
 public:
  // `status` is asked for a line with each word to the manager.
  watchdog(boost::asio::io_context& io, std::function<std::string()> status);
  ~watchdog();

 private:
  class ticking;
  std::shared_ptr<ticking> ticking_;
};

}  // namespace gar
