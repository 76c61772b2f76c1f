// gar_asio_operation.hpp - a handler of Asio's, of any type, kept until its wait has ended. The
// inside of gar_asio.hpp, not for programs by itself; C++17.
//
// Invariants: an operation ends with one call of `end`, which posts the handler to its executor, or
// of `drop`, which destroys it; either frees the operation, and the handler's memory is given back
// before it is called. Until then outstanding work is kept at that executor.
// Threads: one at a time. Allocation: by the handler's allocator.
#ifndef GAR_ASIO_OPERATION_HPP
#define GAR_ASIO_OPERATION_HPP

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/error_code.hpp>
#include <memory>
#include <utility>

#include "gar.hpp"

namespace gar::detail {

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

}  // namespace gar::detail

#endif
