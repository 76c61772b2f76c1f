// gar_asio_error.hpp - gar's error numbers as boost::system::error_code, which waits of
// gar_asio.hpp end with. C++17.
//
// TimedOut compares equal to boost::system::errc::timed_out, Closed to operation_canceled,
// InvalidArgument to invalid_argument. Cancelled is Asio's own operation_aborted. Threads: any.
// Allocation: a message's text.
#ifndef GAR_ASIO_ERROR_HPP
#define GAR_ASIO_ERROR_HPP

#include <boost/asio/error.hpp>
#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>
#include <optional>
#include <string>

#include "gar.hpp"

namespace gar {

// The numbers of gar_errors.h.
inline const boost::system::error_category& error_category() noexcept {
  class category final : public boost::system::error_category {
   public:
    const char* name() const noexcept override { return "gar"; }
    std::string message(int number) const override {
      std::string said = std::string(gar_error_name(number)) + ": " + error_summary(number);
      if (number == GAR_E_INVALID_ARGUMENT) {  // a code has no room for which it was
        said +=
            ": a number never recorded, a stream moved from, an option out of range, or a client "
            "that no context serves";
      }
      return said;
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
// The number of such a code; empty for a code of any other category.
inline std::optional<int> to_error_number(const boost::system::error_code& code) noexcept {
  if (!code) return 0;
  if (code == boost::asio::error::operation_aborted) return GAR_E_CANCELLED;
  if (code.category() == error_category()) return code.value();
  return std::nullopt;
}

}  // namespace gar

#endif
