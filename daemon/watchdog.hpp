// Watchdog: tells the service manager, as often as it asked to be told, that gard turns, for as
// long as every thread of the executor does.
//
// A hung daemon that still answers its manager is never restarted. So the io thread never speaks
// for the others: it only asks, and what the manager hears is the executor's answer.
//
//   io thread --ask_alive, each half of what the manager allows--> every thread of the executor
//   the last of them to turn --notify_watchdog--> the manager
//
// Invariants: whichever thread hangs, from then on the manager hears nothing, and ends gard when
// what it allows (WatchdogSec=) has passed. Without a manager that asks there is no timer, so an
// idle gard makes no wakeup.
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

// What runs, and for whom, in the one line that `systemctl status` shows.
std::string status_line(const status_snapshot& s);

class watchdog {
 public:
  // `ask_alive` is the engine's; `status` is asked for as often, and the manager told its line.
  watchdog(boost::asio::io_context& io, std::function<bool()> ask_alive,
           std::function<status_snapshot()> status);
  ~watchdog();

 private:
  class ticking;
  std::shared_ptr<ticking> ticking_;
};

}  // namespace gar
