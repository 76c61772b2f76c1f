#include "daemon/watchdog.hpp"

#include <fmt/core.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <utility>

#include "daemon/liveness.hpp"
#include "daemon/log.hpp"
#include "daemon/service_manager.hpp"
#include "lib/linux/steady_clock.hpp"

namespace gar {

std::string status_line(const status_snapshot& s) {
  return fmt::format("{} clients, {} streams, {} waits pending", s.clients, s.streams,
                     s.waits.pending);
}

class watchdog::ticking : public std::enable_shared_from_this<ticking> {
 public:
  ticking(boost::asio::io_context& io, std::function<status_snapshot()> status, duration interval)
      : timer_(io), status_(std::move(status)), interval_(interval.ns) {}

  void tick() {
    const status_snapshot now = status_();
    if (liveness_.alive(now, clock_.now())) {
      notify_watchdog();
    } else {
      log(log_level::error, "the waits' thread does not turn; the service manager is not told");
    }
    if (std::string line = status_line(now); line != told_) notify_status(told_ = std::move(line));
    timer_.expires_after(interval_);
    timer_.async_wait([weak = weak_from_this()](boost::system::error_code cancelled) {
      const auto self = weak.lock();
      if (!cancelled && self) self->tick();
    });
  }

 private:
  boost::asio::steady_timer timer_;
  std::function<status_snapshot()> status_;
  std::chrono::nanoseconds interval_;
  steady_clock clock_;
  liveness liveness_;
  std::string told_;
};

watchdog::watchdog(boost::asio::io_context& io, std::function<status_snapshot()> status) {
  const std::optional<duration> interval = watchdog_interval();
  if (!interval) return;
  ticking_ = std::make_shared<ticking>(io, std::move(status), *interval);
  ticking_->tick();
}

watchdog::~watchdog() = default;

}  // namespace gar
