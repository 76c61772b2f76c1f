#include "lib/core/error.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace gar {
namespace {

constexpr bool yes = true;
constexpr bool no = false;

constexpr error_entry registry[] = {
#define GAR_ERROR(number, name, kind, class_, retry, exit_status, message, summary, remedy)        \
  {errc::name, #name, #kind, #class_, retry, exit_status, message, summary[0] ? summary : message, \
   remedy},
#include "proto/errors.def"
#undef GAR_ERROR
};

constexpr bool numbers_rise() {
  for (size_t i = 1; i < std::size(registry); ++i) {
    if (registry[i - 1].code >= registry[i].code) return false;
  }
  return true;
}
static_assert(numbers_rise(), "find_error searches by bisection");

}  // namespace

std::span<const error_entry> error_registry() {
  return registry;
}

const error_entry* find_error(uint16_t number) {
  const auto* at = std::lower_bound(
      std::begin(registry), std::end(registry), number,
      [](const error_entry& e, uint16_t n) { return static_cast<uint16_t>(e.code) < n; });
  if (at == std::end(registry) || static_cast<uint16_t>(at->code) != number) return nullptr;
  return at;
}

std::string_view error::name() const {
  const error_entry* entry = find_error(number());
  return entry ? entry->name : "Unknown";
}

std::string error::text() const {
  const error_entry* entry = find_error(number());
  if (!entry) return fmt::format("error {:#06x}", number());
  if (arguments_.empty()) return std::string(entry->summary);
  std::string shown;
  for (size_t i = 0; i < entry->message.size(); ++i) {
    const bool placeholder = entry->message[i] == '{' && i + 2 < entry->message.size();
    if (!placeholder) {
      shown += entry->message[i];
      continue;
    }
    const size_t index = static_cast<size_t>(entry->message[i + 1] - '0');
    shown += index < arguments_.size() ? arguments_[index] : std::string("?");
    i += 2;
  }
  return shown;
}

std::string error::headline() const {
  return fmt::format("{:#06x} {}: {}", number(), name(), text());
}

void throw_exception_from_error(const error& e, const boost::source_location&) {
  throw std::logic_error(e.headline());
}

void assertion_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "gar: assertion failed: %s (%s:%d)\n", expression, file, line);
  std::abort();
}

}  // namespace gar
