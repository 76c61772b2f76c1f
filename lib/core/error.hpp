// Errors and warnings: what went wrong, as a number that never changes meaning.
//
// The number is the identity; the text is made only when somebody reads it. `proto/errors.def` is
// the one source of both. A failure that is expected travels as `result<T>`; a broken promise of
// our own aborts through GAR_ASSERT and is never used on anything a peer can write.
//
// Threads: values, no shared state. Allocation: only where an error is made or shown.
#pragma once

#include <boost/system/result.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gar {

enum class errc : uint16_t {
#define GAR_ERROR(number, name, kind, class_, retry, exit_status, message, summary, remedy) \
  name = number,
#include "proto/errors.def"
#undef GAR_ERROR
};

// One row of the registry.
struct error_entry {
  errc code;
  std::string_view name;
  std::string_view kind;    // "error" or "warning"
  std::string_view class_;  // "caller", "peer", "environment", "limit", "transient", "internal"
  bool retry;
  int exit_status;
  std::string_view message;  // with {0}, {1}, ...
  std::string_view summary;  // without
  std::string_view remedy;
};

// The registry in number order.
std::span<const error_entry> error_registry();

// The row of a number; nullptr where no such number exists.
const error_entry* find_error(uint16_t number);

class [[nodiscard]] error {
 public:
  // No error: what boost::system::result hands out when it holds a value.
  error() = default;
  error(errc code, std::vector<std::string> arguments = {}, int os_number = 0)
      : code_(code), os_number_(os_number), arguments_(std::move(arguments)) {}

  errc code() const { return code_; }
  uint16_t number() const { return static_cast<uint16_t>(code_); }
  std::string_view name() const;
  // errno, or a vendor's status; 0 where none applies. Kept through every wrapping.
  int os_number() const { return os_number_; }
  const std::vector<std::string>& arguments() const { return arguments_; }
  // The registry's message with the arguments in place; its summary where there are none.
  std::string text() const;
  // "0x0001 InvalidPlan: ..." as people see it.
  std::string headline() const;

  bool operator==(const error&) const = default;

 private:
  errc code_{};
  int os_number_ = 0;
  std::vector<std::string> arguments_;
};

template <class T>
using result = boost::system::result<T, error>;

// Called by boost::system::result when value() is asked of a failure: a bug of the caller.
[[noreturn]] void throw_exception_from_error(const error& e, const boost::source_location& at);

[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);

}  // namespace gar

#define GAR_ASSERT(expression) \
  ((expression) ? void(0) : ::gar::assertion_failed(#expression, __FILE__, __LINE__))
