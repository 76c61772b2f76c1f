// Tracing: one trace of waits at a time, from its start to its last reading.
//
//   none --start--> on, for a time --> over, read to its end or not for `kept_for` --> none
//
// Whoever reads one does so several times a second. One that nobody has read for `unread_max` is
// that of a reader who left, and the next start takes its place.
//
// Invariants: the executor writes only while it is on; what it wrote is kept until it was read, or
// a while; memory is had for one trace alone.
// Threads: the io thread's. Blocking: never. Ownership: the trace is shared with the executor.
// Errors: OutOfState: one is on or not read to its end, and is being read; Closed{which and why}:
// it is not that one, or no longer.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "lib/core/error.hpp"
#include "lib/core/time.hpp"
#include "lib/core/wait_trace.hpp"

namespace gar {

class tracing {
 public:
  // `to` is told where the executor writes from now on; none: nowhere.
  // One that is over is kept for `kept_for` from its end, and from each reading.
  tracing(boost::asio::io_context& io, std::function<void(std::shared_ptr<wait_trace>)> to,
          duration kept_for = from_ms(30'000))
      : kept_for_(kept_for), timer_(io), to_(std::move(to)) {}

  // The trace's number: no other has it, of this gard or of another since the machine's start.
  result<uint64_t> start(duration how_long, instant now);

  struct part {
    std::vector<traced_wait> waits;
    uint64_t lost = 0;   // so far
    bool ended = false;  // nothing is left, and nothing comes
  };
  result<part> read(uint64_t which, size_t most, instant now);

 private:
  static constexpr duration unread_max = from_ms(2'000);

  void end_after(duration how_long);
  void forget_after(duration how_long);
  bool set_anew() const;
  error not_here(uint64_t which) const;

  const duration kept_for_;
  boost::asio::steady_timer timer_;
  std::function<void(std::shared_ptr<wait_trace>)> to_;
  std::shared_ptr<wait_trace> now_;
  uint64_t first_ = 0;  // the number before this gard's first
  uint64_t number_ = 0;
  instant read_at_;  // or begun
  bool on_ = false;
};

}  // namespace gar
