#include "lib/core/quantity.hpp"

#include <fmt/core.h>

#include <limits>
#include <optional>
#include <span>

#include "lib/core/printable.hpp"

namespace gar {
namespace {

struct unit {
  std::string_view name;
  uint64_t factor;
};

// The smallest first.
constexpr unit time_units[] = {{"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}};
constexpr unit byte_units[] = {{"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};

constexpr std::string_view time_expected =
    "expected a whole number with its unit, ns, us, ms or s, such as \"50us\"";
constexpr std::string_view byte_expected =
    "expected a whole number with its unit, B, KiB, MiB or GiB, such as \"2MiB\"";

std::optional<uint64_t> scaled(std::string_view text, std::span<const unit> units) {
  size_t digits = 0;
  uint64_t value = 0;
  constexpr uint64_t max = std::numeric_limits<uint64_t>::max();
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
    const auto digit = static_cast<uint64_t>(text[digits] - '0');
    if (value > (max - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  if (digits == 0 || (digits > 1 && text[0] == '0')) return std::nullopt;
  for (const unit& u : units) {
    if (text.substr(digits) != u.name) continue;
    if (value > max / u.factor) return std::nullopt;
    return value * u.factor;
  }
  return std::nullopt;
}

error refused(std::string_view text, std::string_view expected) {
  constexpr size_t shown_bytes_max = 64;
  return error(errc::InvalidArgument,
               {fmt::format("'{}'", printable(text, shown_bytes_max)), std::string(expected)});
}

std::string shown(uint64_t value, std::span<const unit> units) {
  const unit* largest = &units[0];
  for (const unit& u : units) {
    if (value != 0 && value % u.factor == 0) largest = &u;
  }
  return fmt::format("{}{}", value / largest->factor, largest->name);
}

}  // namespace

result<duration> parse_duration(std::string_view text) {
  if (const auto ns = scaled(text, time_units)) return duration{*ns};
  return refused(text, time_expected);
}

result<uint64_t> parse_bytes(std::string_view text) {
  if (const auto bytes = scaled(text, byte_units)) return *bytes;
  return refused(text, byte_expected);
}

std::string text_of(duration d) {
  return shown(d.ns, time_units);
}

std::string text_of_bytes(uint64_t bytes) {
  return shown(bytes, byte_units);
}

}  // namespace gar
