// gar_asio.hpp - await waits with Boost.Asio's completion tokens (Boost 1.81 or later; C++17, and
// C++20 for use_awaitable).
//
//   gar::asio_client client(io);                            // a gar::client that `io` serves
//   gar::stream stream = client.open_cuda(cuda_stream);
//   gar_report r = co_await gar::async_wait(stream, stream.record(), boost::asio::use_awaitable);
//
// Model: one descriptor of the client is polled by the executor's context while waits are pending.
// When it is readable the ended waits are taken together, and each handler is posted to its
// associated executor (the client's where it has none), also where the wait could not be started:
// no handler is called from within async_wait. The signature is void(boost::system::error_code,
// gar_report).
//
// Errors: those of gar.h as gar::error_category(); a wait that was cancelled ends with Asio's own
// operation_aborted. TimedOut compares equal to boost::system::errc::timed_out, Closed to
// operation_canceled. A stream of another client, or of one that no context serves, is
// InvalidArgument.
//
// Cancellation: per operation, of every type, by the handler's cancellation slot.
//
// Executors: outstanding work is kept at the handler's executor, so that run() of its context goes
// on while the wait is pending, and at the client's context. Handlers run where their executors run
// them; on the client's context the devices of waits that gard says have ended are asked. The
// initiation's own executor, for tokens that ask for one (use_promise), is the client's.
//
// Allocation: by the handler's allocator.
//
// Threads: any may call async_wait, also for one stream at once; what Asio asks of slots and
// executors holds. The client is made before other threads use it.
//
// Lifetime of a stream: it must live until the wait has started (a lazy token starts it later).
// Closing it ends its waits with Closed.
//
// Lifetime of the client: pending waits keep it open; their handlers are called after the last
// other copy of it went, too.
//
// Lifetime of the context: when it ends first, the handlers of pending waits are destroyed without
// being called, as Asio's are, and the waits are cancelled. Nobody serves the client from then on:
// async_wait is refused with InvalidArgument until it is given to another context. What is not
// pending holds nothing of the context, so a client whose context ended while nothing was pending
// does not know of it: give it to another before the next wait.
//
// Exceptions: async_wait throws where there is no memory. What a handler throws leaves run().
//
// Needs RTTI. gar_take and gar::driver are for other clients.
#ifndef GAR_ASIO_HPP
#define GAR_ASIO_HPP

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "gar_pending.hpp"

namespace gar {

// The numbers of gar_errors.h.
inline const boost::system::error_category& error_category() noexcept {
  class category final : public boost::system::error_category {
   public:
    const char* name() const noexcept override { return "gar"; }
    std::string message(int number) const override {
      return std::string(gar_error_name(number)) + ": " + error_summary(number);
    }
    boost::system::error_condition default_error_condition(int number) const noexcept override {
      namespace errc = boost::system::errc;
      switch (number) {
        case GAR_E_TIMED_OUT:
          return errc::make_error_condition(errc::timed_out);
        case GAR_E_CANCELLED:
        case GAR_E_CLOSED:
          return errc::make_error_condition(errc::operation_canceled);
        case GAR_E_INVALID_ARGUMENT:
          return errc::make_error_condition(errc::invalid_argument);
        default:
          return {number, *this};
      }
    }
  };
  static const category only;
  return only;
}

// 0 is success, Cancelled is Asio's operation_aborted.
inline boost::system::error_code to_error_code(int number) noexcept {
  if (number == 0) return {};
  if (number == GAR_E_CANCELLED) return boost::asio::error::operation_aborted;
  return {number, error_category()};
}
// The other way; nothing for a code of anybody else.
inline std::optional<int> to_error_number(const boost::system::error_code& code) noexcept {
  if (!code) return 0;
  if (code == boost::asio::error::operation_aborted) return GAR_E_CANCELLED;
  if (code.category() == error_category()) return code.value();
  return std::nullopt;
}

namespace detail {

namespace asio = boost::asio;

// Who awaits a wait, whatever its handler is. Frees itself with its one call.
class asio_waiter {
 public:
  virtual void end(boost::system::error_code error, const gar_report& report) = 0;
  virtual void drop() noexcept = 0;

 protected:
  ~asio_waiter() = default;
};

// A handler with what it is called with.
template <class Handler>
struct ended_call {
  using allocator_type = asio::associated_allocator_t<Handler>;

  Handler handler;
  boost::system::error_code error;
  gar_report report;

  allocator_type get_allocator() const noexcept { return asio::get_associated_allocator(handler); }
  void operator()() { std::move(handler)(error, report); }
};

template <class Handler>
class asio_operation final : public asio_waiter {
 public:
  static asio_operation* make(Handler handler, const asio::any_io_executor& otherwise) {
    allocator from(asio::get_associated_allocator(handler));
    asio_operation* const place = traits::allocate(from, 1);
    try {
      return new (static_cast<void*>(place)) asio_operation(std::move(handler), otherwise);
    } catch (...) {
      traits::deallocate(from, place, 1);
      throw;
    }
  }

  void end(boost::system::error_code error, const gar_report& report) override {
    const guard work = std::move(work_);
    allocator to(asio::get_associated_allocator(handler_));
    ended_call<Handler> call{std::move(handler_), error, report};
    free(to);
    asio::post(work.get_executor(), std::move(call));
  }
  void drop() noexcept override {
    allocator to(asio::get_associated_allocator(handler_));
    free(to);
  }

 private:
  using executor = asio::associated_executor_t<Handler, asio::any_io_executor>;
  using guard = asio::executor_work_guard<executor>;
  using traits = typename std::allocator_traits<
      asio::associated_allocator_t<Handler>>::template rebind_traits<asio_operation>;
  using allocator = typename traits::allocator_type;

  asio_operation(Handler&& handler, const asio::any_io_executor& otherwise)
      : work_(asio::get_associated_executor(handler, otherwise)), handler_(std::move(handler)) {}
  ~asio_operation() = default;

  void free(allocator& to) noexcept {
    this->~asio_operation();
    traits::deallocate(to, this, 1);
  }

  guard work_;
  Handler handler_;
};

// The client's descriptor, lent to Asio.
class lent_descriptor {
 public:
  explicit lent_descriptor(const asio::any_io_executor& on, int fd) : own(on, fd) {}
  ~lent_descriptor() { own.release(); }

  asio::posix::stream_descriptor own;
};

// Polls while waits are pending: `polling_` goes up with the first one that is published and down
// when none is left. Who turned it up, and then the handler that is outstanding, alone touch
// `lent_`.
class asio_waits final : public pending_waits {
 public:
  asio_waits(gar_client* client, int fd, asio::any_io_executor on)
      : pending_waits(client), fd_(fd), executor_(std::move(on)) {}

  // Empty after a context that ended with waits pending.
  const asio::any_io_executor& executor() const { return executor_; }
  // false: waits are pending under the executor that there is.
  bool move_to(asio::any_io_executor on) {
    if (count() > 0) return false;
    executor_ = std::move(on);
    return true;
  }

  void publish_polled(entry& e, std::shared_ptr<gar_client> open) {
    {
      std::lock_guard lock(lock_);
      publish_locked(e);
      if (std::exchange(polling_, true)) return;
    }
    await({this, std::move(open)});
  }

 private:
  // A handler that is destroyed instead of called says that the context has ended. It keeps the
  // client open.
  struct readable {
    asio_waits* of;
    std::shared_ptr<gar_client> open;

    readable(asio_waits* w, std::shared_ptr<gar_client> o) : of(w), open(std::move(o)) {}
    readable(readable&&) noexcept = default;
    readable& operator=(readable&&) = delete;
    ~readable() {
      if (open) of->abandon();
    }
    void operator()(boost::system::error_code error) {
      const std::shared_ptr<gar_client> until_told = open;
      of->take_readable(std::move(*this), error);
    }
  };

  // Without a descriptor or memory to poll with nothing would end the waits.
  void await(readable&& next) {
    boost::system::error_code failed;
    try {
      if (!lent_) lent_.emplace(executor_, fd_);
      lent_->own.async_wait(asio::posix::descriptor_base::wait_read, std::move(next));
      return;
    } catch (const boost::system::system_error& e) {
      failed = e.code();
    } catch (const std::bad_alloc&) {
      failed = asio::error::no_memory;
    }
    next.open.reset();
    end_all(failed);
  }

  void take_readable(readable&& next, boost::system::error_code error) {
    if (!error) error = to_error_code(take());
    if (error) {
      end_all(error);
    } else if (more_to_come()) {
      await(std::move(next));
    }
    next.open.reset();
    tell();
  }
  bool more_to_come() {
    std::lock_guard lock(lock_);
    if (!none_pending_locked()) return true;
    stop_locked();
    return false;
  }
  void stop_locked() {
    lent_.reset();
    polling_ = false;
  }

  // One that cannot be posted is no reason to forget the others.
  void tell() {
    std::exception_ptr failed;
    while (const auto e = next_ended()) {
      try {
        waiter(e->waiter).end(to_error_code(e->error), e->report);
      } catch (...) {
        failed = std::current_exception();
      }
    }
    if (failed) std::rethrow_exception(failed);
  }
  void end_all(boost::system::error_code error) {
    {
      std::lock_guard lock(lock_);
      stop_locked();
    }
    while (void* const w = disown_next()) waiter(w).end(error, {});
  }
  void abandon() noexcept {
    {
      std::lock_guard lock(lock_);
      stop_locked();
    }
    executor_ = {};
    while (void* const w = disown_next()) waiter(w).drop();
  }

  static asio_waiter& waiter(void* w) { return *static_cast<asio_waiter*>(w); }

  const int fd_;
  asio::any_io_executor executor_;
  bool polling_ = false;
  std::optional<lent_descriptor> lent_;
};

// In a handler's cancellation slot. Harmless after the wait, and after the client.
struct asio_cancel {
  std::weak_ptr<gar_client> client;
  uint64_t ticket = 0;

  void operator()(asio::cancellation_type_t type) const {
    if (type == asio::cancellation_type::none || ticket == 0) return;
    if (const std::shared_ptr<gar_client> open = client.lock()) gar_cancel(open.get(), ticket);
  }
};

// Those of a client that a context serves; null: none does.
inline asio_waits* served_waits(const std::shared_ptr<gar_client>& client) noexcept {
  std::shared_ptr<pending_waits>* const place = waits_of(client);
  auto* const waits = place ? dynamic_cast<asio_waits*>(place->get()) : nullptr;
  return waits && waits->executor() ? waits : nullptr;
}
// The system's where none serves it: what is refused is told somewhere.
inline asio::any_io_executor executor_of(const std::shared_ptr<gar_client>& client) noexcept {
  const asio_waits* const waits = served_waits(client);
  return waits ? waits->executor() : asio::any_io_executor(asio::system_executor());
}

struct start_async_wait {
  using executor_type = asio::any_io_executor;

  std::shared_ptr<gar_client> client;
  gar_stream* stream;

  executor_type get_executor() const noexcept { return executor_of(client); }

  template <class Handler>
  void operator()(Handler&& handler, uint64_t sequence, const wait_options& options) const {
    using operation = asio_operation<std::decay_t<Handler>>;
    asio_waits* const waits = served_waits(client);
    auto slot = asio::get_associated_cancellation_slot(handler, asio::cancellation_slot());
    // Its place is there before there is anything that would have to be taken back.
    asio_cancel* const cancel =
        slot.is_connected() ? &slot.template emplace<asio_cancel>(asio_cancel{client, 0}) : nullptr;
    operation* const op = operation::make(std::forward<Handler>(handler), get_executor());
    pending_waits::entry* started = nullptr;
    if (const int number =
            waits ? start(*waits, sequence, options, op, started) : GAR_E_INVALID_ARGUMENT) {
      op->end(to_error_code(number), {});
      return;
    }
    if (cancel) cancel->ticket = started->ticket;
    waits->publish_polled(*started, client);
  }

 private:
  int start(asio_waits& waits, uint64_t sequence, const wait_options& options, asio_waiter* op,
            pending_waits::entry*& started) const {
    try {
      return waits.start(stream, sequence, options, op, started);
    } catch (...) {
      op->drop();
      throw;
    }
  }
};

}  // namespace detail

// A client whose waits an executor's context serves: an io_context, a thread_pool, or any other
// that posix::stream_descriptor works with.
class asio_client : public client {
 public:
  using executor_type = boost::asio::any_io_executor;

  explicit asio_client(executor_type on, const client_options& options = {})
      : asio_client(std::move(on), client(options)) {}
  // A client that there is, whose completions nobody takes.
  asio_client(executor_type on, client shared) : client(std::move(shared)) {
    std::shared_ptr<detail::pending_waits>* const place = detail::waits_of(shared_client());
    if (place && !*place) {
      *place = std::make_shared<detail::asio_waits>(get(), fd(), std::move(on));
      return;
    }
    auto* const waits = place ? dynamic_cast<detail::asio_waits*>(place->get()) : nullptr;
    if (waits && waits->move_to(std::move(on))) return;
    throw failure(GAR_E_INVALID_ARGUMENT, "client: its completions are taken by another already");
  }
  // Either, on a context.
  template <
      class Context, class Client = client_options,
      class = std::enable_if_t<std::is_convertible_v<Context&, boost::asio::execution_context&>>>
  explicit asio_client(Context& context, const Client& how = {})
      : asio_client(executor_type(context.get_executor()), how) {}

  // The one that serves it; the system's after a context that ended with waits pending.
  executor_type get_executor() const noexcept { return detail::executor_of(shared_client()); }
};

// Awaits the work recorded under `sequence` on a stream of an asio_client. The options are as those
// of stream::wait; run_inline has no thread to run on here and is refused.
template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(boost::system::error_code, gar_report)) Token>
auto async_wait(const stream& s, uint64_t sequence, Token&& token, wait_options options = {}) {
  return boost::asio::async_initiate<Token, void(boost::system::error_code, gar_report)>(
      detail::start_async_wait{s.shared_client(), s.get()}, token, sequence, std::move(options));
}

}  // namespace gar

#endif
