#include "daemon/watchdog.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <utility>

#include "daemon/service_manager.hpp"

namespace gar {

class watchdog::ticking : public std::enable_shared_from_this<ticking> {
 public:
  ticking(boost::asio::io_context& io, std::function<std::string()> status, duration interval)
      : timer_(io), status_(std::move(status)), interval_(interval.ns) {}

  void tick() {
    notify_watchdog();
    if (std::string now = status_(); now != told_) notify_status(told_ = std::move(now));
    timer_.expires_after(interval_);
    timer_.async_wait([weak = weak_from_this()](boost::system::error_code cancelled) {
      const auto self = weak.lock();
      if (!cancelled && self) self->tick();
    });
  }

 private:
  boost::asio::steady_timer timer_;
  std::function<std::string()> status_;
  std::chrono::nanoseconds interval_;
  std::string told_;
};

watchdog::watchdog(boost::asio::io_context& io, std::function<std::string()> status) {
  const std::optional<duration> interval = watchdog_interval();
  if (!interval) return;
  ticking_ = std::make_shared<ticking>(io, std::move(status), *interval);
  ticking_->tick();
}

watchdog::~watchdog() = default;

}  // namespace gar
