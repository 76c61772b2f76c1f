#include "clients/garctl/readable.hpp"

#include <fmt/core.h>

namespace gar {
namespace {

constexpr uint64_t us_ns = 1'000;
constexpr uint64_t ms_ns = 1'000'000;
constexpr uint64_t s_ns = 1'000'000'000;

// Three digits that count: "1.23", "12.3", "123".
std::string three_digits(uint64_t value, uint64_t unit, std::string_view name) {
  const double shown = static_cast<double>(value) / static_cast<double>(unit);
  const int decimals = shown < 10 ? 2 : shown < 100 ? 1 : 0;
  return fmt::format("{:.{}f} {}", shown, decimals, name);
}

std::string readable_minutes(uint64_t seconds) {
  const uint64_t minutes = seconds / 60;
  const uint64_t hours = minutes / 60;
  if (hours >= 24) return fmt::format("{} d {} h", hours / 24, hours % 24);
  if (hours > 0) return fmt::format("{} h {} min", hours, minutes % 60);
  return fmt::format("{} min {} s", minutes, seconds % 60);
}

constexpr bool is_continuation(unsigned char c) {
  return (c & 0xc0) == 0x80;
}

}  // namespace

std::string readable_ns(uint64_t ns) {
  if (ns < us_ns) return fmt::format("{} ns", ns);
  if (ns < ms_ns) return three_digits(ns, us_ns, "us");
  if (ns < s_ns) return three_digits(ns, ms_ns, "ms");
  if (ns < 60 * s_ns) return three_digits(ns, s_ns, "s");
  return readable_minutes(ns / s_ns);
}

std::string readable_kib(uint64_t kib) {
  if (kib < 1024) return fmt::format("{} KiB", kib);
  if (kib < 1024 * 1024) return three_digits(kib, 1024, "MiB");
  return three_digits(kib, 1024 * 1024, "GiB");
}

std::string readable_text(std::string_view text) {
  std::string shown;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto following = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (c < 0x20 || c == 0x7f) {
      shown += fmt::format("\\x{:02x}", c);
    } else if (c == 0xc2 && following >= 0x80 && following < 0xa0) {
      shown += fmt::format("\\x{:02x}\\x{:02x}", c, following);
      ++i;
    } else {
      shown += text[i];
    }
  }
  return shown;
}

size_t columns_of(std::string_view text) {
  size_t columns = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = text.find('m', i);
      if (i == std::string_view::npos) break;
    } else if (!is_continuation(static_cast<unsigned char>(text[i]))) {
      ++columns;
    }
  }
  return columns;
}

}  // namespace gar
