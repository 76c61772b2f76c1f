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
// operation_aborted. What gar_wait_async refused gar_last_error tells in full, on the thread that
// called async_wait. TimedOut compares equal to boost::system::errc::timed_out, Closed to
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
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/system/error_code.hpp>
#include <memory>
#include <type_traits>
#include <utility>

#include "gar_asio_error.hpp"
#include "gar_asio_operation.hpp"
#include "gar_asio_waits.hpp"

namespace gar {
namespace detail {

// In a handler's cancellation slot. Harmless after the wait, and after the client.
struct asio_cancel {
  std::weak_ptr<gar_client> client;
  uint64_t ticket = 0;

  void operator()(asio::cancellation_type_t type) const {
    if (type == asio::cancellation_type::none || ticket == 0) return;
    if (const std::shared_ptr<gar_client> open = client.lock()) gar_cancel(open.get(), ticket);
  }
};

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
  // Serves a client that is open already. Throws InvalidArgument where its completions are taken by
  // another: a gar::driver, or a context under which waits are pending.
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
  // The same two, given a context in place of its executor.
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
