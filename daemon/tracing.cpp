#include "daemon/tracing.hpp"

#include <fmt/core.h>

#include <chrono>

namespace gar {

result<uint64_t> tracing::start(duration how_long, instant now) {
  if (now_ && now - read_at_ < unread_max) {
    return error(errc::OutOfState, {"a trace", "while another one is on or being read"});
  }
  read_at_ = now;
  now_ = std::make_shared<wait_trace>();
  on_ = true;
  to_(now_);
  end_after(how_long);
  if (number_ == 0) first_ = number_ = now.ns / 1'000'000;
  return ++number_;
}

void tracing::end_after(duration how_long) {
  timer_.expires_after(std::chrono::nanoseconds(how_long.ns));
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (cancelled || set_anew()) return;
    on_ = false;
    to_(nullptr);
    forget_after(kept_for_);
  });
}

void tracing::forget_after(duration how_long) {
  timer_.expires_after(std::chrono::nanoseconds(how_long.ns));
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled && !set_anew()) now_.reset();
  });
}

// One that ran out before it was set anew could not be cancelled any more.
bool tracing::set_anew() const {
  return timer_.expiry() > boost::asio::steady_timer::clock_type::now();
}

result<tracing::part> tracing::read(uint64_t which, size_t most, instant now) {
  if (!now_ || which != number_) return not_here(which);
  read_at_ = now;
  part p;
  // Looked at before the waits: what it lets go of was written before.
  const bool executor_left = !on_ && now_.use_count() == 1;
  std::atomic_thread_fence(std::memory_order_acquire);
  now_->take(most, [&p](const traced_wait& w) { p.waits.push_back(w); });
  p.lost = now_->lost();
  p.ended = executor_left && p.waits.size() < most;
  if (p.ended) {
    timer_.cancel();
    now_.reset();
  } else if (!on_) {
    forget_after(kept_for_);
  }
  return p;
}

error tracing::not_here(uint64_t which) const {
  const bool own = which > first_ && which <= number_;
  const char* why = !own              ? "which another gard began"
                    : which < number_ ? "whose place a later one took"
                                      : "which was read to its end or not in time";
  return error(errc::Closed, {fmt::format("trace {}, {},", which, why)});
}

}  // namespace gar
