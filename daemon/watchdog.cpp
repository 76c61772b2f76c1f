#include "daemon/watchdog.hpp"

#include <fmt/core.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <utility>

#include "daemon/log.hpp"
#include "daemon/service_manager.hpp"

namespace gar {

std::string status_line(const status_snapshot& s) {
  const executor_snapshot& e = s.executor;
  const std::string asked =
      e.running == e.requested ? "" : fmt::format(" (asked for {})", e.requested);
  return fmt::format(
      "executor {}{}, word wait {}, plan {}; {} clients, {} streams, {} waits pending", e.running,
      asked, s.word_wait.kind, s.plan.running, s.clients, s.streams, s.waits.pending);
}

class watchdog::ticking : public std::enable_shared_from_this<ticking> {
 public:
  ticking(boost::asio::io_context& io, std::function<bool()> ask_alive,
          std::function<status_snapshot()> status, duration interval)
      : timer_(io),
        ask_alive_(std::move(ask_alive)),
        status_(std::move(status)),
        interval_(interval.ns) {}

  void tick() {
    if (!ask_alive_()) {
      log(log_level::error, "the executor does not turn; the service manager will restart gard");
    }
    // A word about a refused reload stays until there is another to say.
    if (std::string line = status_line(status_()); line != told_)
      notify_status(told_ = std::move(line));
    timer_.expires_after(interval_);
    timer_.async_wait([weak = weak_from_this()](boost::system::error_code cancelled) {
      const auto self = weak.lock();
      if (!cancelled && self) self->tick();
    });
  }

 private:
  boost::asio::steady_timer timer_;
  std::function<bool()> ask_alive_;
  std::function<status_snapshot()> status_;
  std::chrono::nanoseconds interval_;
  std::string told_;
};

watchdog::watchdog(boost::asio::io_context& io, std::function<bool()> ask_alive,
                   std::function<status_snapshot()> status) {
  const std::optional<duration> interval = watchdog_interval();
  if (!interval) return;
  ticking_ = std::make_shared<ticking>(io, std::move(ask_alive), std::move(status), *interval);
  ticking_->tick();
}

watchdog::~watchdog() = default;

}  // namespace gar
