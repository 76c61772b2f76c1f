// gar_await.hpp - await waits in C++20 coroutines, of any coroutine type, in any event loop.
//
//   gar::driver driver(client);                            // once, before the client is used
//   gar_report r = co_await gar::wait(stream, sequence);   // elsewhere, in a coroutine
//   driver.run_until([&] { return finished; });            // on the thread that resumes them
//
// Or in a loop of the program's own: whenever `driver.descriptor()` polls readable,
// `driver.drain()`.
//
// Model: co_await starts the wait and suspends; `drain` takes what has ended and resumes. Nothing
// else resumes a coroutine, but a wait that cannot be started never suspends it.
//
// Threads: a coroutine may await on any thread and is resumed on the one that drains. One thread at
// a time drains, and only while none does may another destroy a suspended coroutine. The
// stop_token's stop may be asked for anywhere.
//
// Blocking: `run` and `run_until`. `drain` never blocks, but the devices of waits that gard says
// have ended are asked there, and what coroutines do until they suspend again is done there.
//
// Lifetime of a stream: it must live until the coroutine is suspended; when it is closed while
// waits are pending they end with Closed.
//
// Lifetime of a coroutine: a suspended one may be destroyed: its wait is cancelled and nobody is
// told.
//
// Lifetime of a driver: it keeps its client open, and ends while nothing awaits anew. Its end
// cancels what is pending and resumes each coroutine, on its own thread, with Cancelled (what
// leaves a promise then terminates the program); the client may have another driver afterwards.
//
// Exceptions: co_await throws gar::failure: TimedOut, Cancelled (by the token), Closed, what the
// device said, what the wait could not be started for. What leaves a coroutine's promise leaves
// `drain`; the next drain goes on behind it, without waiting for the descriptor.
//
// Needs RTTI. A client whose completions are taken by someone else (gar_asio.hpp, gar_take) cannot
// have a driver: InvalidArgument.
#ifndef GAR_AWAIT_HPP
#define GAR_AWAIT_HPP

#include <errno.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "gar_pending.hpp"

namespace gar {
namespace detail {

class driven_waits final : public pending_waits {
 public:
  using pending_waits::pending_waits;
  bool driven = false;
};

}  // namespace detail

// What `gar::wait` gives: awaited once, where it is.
class [[nodiscard]] wait_awaiter {
 public:
  wait_awaiter(const stream& s, uint64_t sequence, wait_options options, std::stop_token stop)
      : client_(s.shared_client()),
        stream_(s.get()),
        sequence_(sequence),
        options_(std::move(options)),
        stop_(std::move(stop)) {}
  wait_awaiter(const wait_awaiter&) = delete;
  wait_awaiter& operator=(const wait_awaiter&) = delete;
  ~wait_awaiter() {
    cancels_.reset();
    if (entry_) waits_->disown(*entry_);
  }

  bool await_ready() const noexcept { return false; }

  // Not inlined: clang may otherwise keep this function's own variables in the coroutine's frame,
  // which may be gone before it returns.
#if defined(__GNUC__)
  __attribute__((noinline))
#endif
  bool
  await_suspend(std::coroutine_handle<> waiter) {
    waiter_ = waiter;
    if (stop_.stop_requested()) return fail(GAR_E_CANCELLED, {});
    std::shared_ptr<detail::pending_waits>* const found = detail::waits_of(client_);
    waits_ = found ? dynamic_cast<detail::driven_waits*>(found->get()) : nullptr;
    if (!waits_ || !waits_->driven) {
      return fail(GAR_E_INVALID_ARGUMENT, "stream: its client has no gar::driver");
    }
    if (const int number = waits_->start(stream_, sequence_, options_, this, entry_)) {
      char text[1024];
      gar_last_error(text, sizeof(text));
      return fail(number, text);
    }
    if (stop_.stop_possible()) cancels_.emplace(stop_, cancel{client_, entry_->ticket});
    // This object may be gone before `publish` returns.
    const std::shared_ptr<gar_client> open_meanwhile = client_;
    waits_->publish(*entry_);
    return true;
  }

  gar_report await_resume() {
    cancels_.reset();
    if (error_ != 0) throw failure(error_, text_.empty() ? error_summary(error_) : text_);
    return report_;
  }

 private:
  friend class driver;

  struct cancel {
    std::shared_ptr<gar_client> client;
    uint64_t ticket;
    void operator()() const noexcept { gar_cancel(client.get(), ticket); }
  };

  bool fail(int error, std::string text) {
    error_ = error;
    text_ = std::move(text);
    return false;
  }
  void resume(int error, const gar_report& report) {
    entry_ = nullptr;
    error_ = error;
    report_ = report;
    waiter_.resume();
  }

  const std::shared_ptr<gar_client> client_;
  gar_stream* const stream_;
  const uint64_t sequence_;
  const wait_options options_;
  const std::stop_token stop_;
  std::coroutine_handle<> waiter_;
  detail::driven_waits* waits_ = nullptr;
  detail::pending_waits::entry* entry_ = nullptr;  // while the wait is neither over nor disowned
  std::optional<std::stop_callback<cancel>> cancels_;
  int error_ = 0;
  std::string text_;
  gar_report report_{};
};

// Awaits the work recorded under `sequence`. The options are as those of stream::wait; run_inline
// has no thread to run on here and is refused.
inline wait_awaiter wait(const stream& s, uint64_t sequence, wait_options options = {},
                         std::stop_token stop = {}) {
  return {s, sequence, std::move(options), std::move(stop)};
}

// Takes a client's completions and resumes the coroutines that await them.
class driver {
 public:
  explicit driver(const client& c)
      : client_(c), descriptor_(client_.fd()), waits_(joined(client_)) {}
  driver(const driver&) = delete;
  driver& operator=(const driver&) = delete;
  ~driver() {
    waits_.driven = false;
    while (const auto e = waits_.next_ended()) waiter(e->waiter).resume(e->error, e->report);
    while (void* const w = waits_.disown_next()) waiter(w).resume(GAR_E_CANCELLED, {});
  }

  // Polls readable while there may be something to drain; the same one for good. It belongs to the
  // client: do not read or close it.
  int descriptor() const noexcept { return descriptor_; }

  // Waits that coroutines are suspended for.
  size_t pending() const { return waits_.count(); }

  // Resumes those whose waits have ended, the first first; how many.
  size_t drain() {
    failure::check(waits_.take());
    size_t resumed_count = 0;
    while (const auto e = waits_.next_ended()) {
      waiter(e->waiter).resume(e->error, e->report);
      ++resumed_count;
    }
    return resumed_count;
  }

  // Drains until `done()`, until nothing is pending or until the deadline; what done() says then.
  // The deadline is looked at behind each drain.
  template <class Done>
  bool run_until(Done&& done, std::chrono::steady_clock::time_point deadline =
                                  std::chrono::steady_clock::time_point::max()) {
    while (!done()) {
      const bool drained = drain() > 0;
      const bool goes_on = drained ? std::chrono::steady_clock::now() < deadline
                                   : pending() > 0 && await_readable(deadline);
      if (!goes_on) return done();
    }
    return true;
  }
  // Drains until nothing is pending.
  void run() {
    run_until([] { return false; });
  }

 private:
  static wait_awaiter& waiter(void* w) { return *static_cast<wait_awaiter*>(w); }

  static detail::driven_waits& joined(const client& c) {
    std::shared_ptr<detail::pending_waits>* const place = detail::waits_of(c.shared_client());
    if (place && !*place) *place = std::make_shared<detail::driven_waits>(c.get());
    auto* const waits = place ? dynamic_cast<detail::driven_waits*>(place->get()) : nullptr;
    if (!waits || waits->driven) {
      throw failure(GAR_E_INVALID_ARGUMENT, "client: its completions are taken by another already");
    }
    waits->driven = true;
    return *waits;
  }

  // false: the deadline passed.
  bool await_readable(std::chrono::steady_clock::time_point deadline) const {
    using namespace std::chrono;
    constexpr int64_t longest_ms = 1'000'000'000;
    for (;;) {
      const int64_t left_ms = ceil<milliseconds>(deadline - steady_clock::now()).count();
      const auto pause_ms = static_cast<int>(std::clamp(left_ms, int64_t{0}, longest_ms));
      pollfd p{descriptor_, POLLIN, 0};
      const int ready = ::poll(&p, 1, deadline == steady_clock::time_point::max() ? -1 : pause_ms);
      if (ready > 0) return true;
      if (ready < 0 && errno != EINTR) throw failure(GAR_E_SYSTEM_CALL, "poll");
      if (steady_clock::now() >= deadline) return false;
    }
  }

  client client_;
  const int descriptor_;
  detail::driven_waits& waits_;
};

}  // namespace gar

#endif
