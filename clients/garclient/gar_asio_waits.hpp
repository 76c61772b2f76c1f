// gar_asio_waits.hpp - the pending waits of a client that an Asio context serves. The inside of
// gar_asio.hpp, not for programs by itself; C++17.
//
//   publish_polled -> the client's descriptor is polled -> readable: taken, each operation is ended
//                     the context has ended first       -> abandoned: each operation is dropped
//
// Invariants: the descriptor is polled while waits are pending and not otherwise. No handler is
// called from here: each is posted.
// Threads: any may start and publish; what polls, takes and tells runs on the context, one at a
// time. Ownership: what polls keeps the client open; the descriptor stays the client's. Allocation:
// as pending_waits.
#ifndef GAR_ASIO_WAITS_HPP
#define GAR_ASIO_WAITS_HPP

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "gar_asio_error.hpp"
#include "gar_asio_operation.hpp"
#include "gar_pending.hpp"

namespace gar::detail {

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

}  // namespace gar::detail

#endif
