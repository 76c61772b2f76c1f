#include "clients/garctl/readable.hpp"

#include <fmt/core.h>

#include <clocale>
#include <cwchar>
#include <string>

#include "lib/core/utf8.hpp"

namespace gar {
namespace {

constexpr uint64_t us_ns = 1'000;
constexpr uint64_t ms_ns = 1'000'000;
constexpr uint64_t s_ns = 1'000'000'000;

// Three digits that count: "1.23", "12.3", "123". The limits are those of what rounds up.
std::string three_digits(uint64_t value, uint64_t unit, std::string_view name) {
  const double shown = static_cast<double>(value) / static_cast<double>(unit);
  const int decimals = shown < 9.995 ? 2 : shown < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", shown, decimals, name);
}

std::string readable_minutes(uint64_t seconds) {
  const uint64_t minutes = seconds / 60;
  const uint64_t hours = minutes / 60;
  if (hours >= 24) return fmt::format("{} d {} h", hours / 24, hours % 24);
  if (hours > 0) return fmt::format("{} h {} min", hours, minutes % 60);
  return fmt::format("{} min {} s", minutes, seconds % 60);
}

// Widths as Unicode has them, whatever the locale of this process is.
class unicode_widths {
 public:
  unicode_widths() : before_(::uselocale(utf8())) {}
  ~unicode_widths() { ::uselocale(before_); }
  unicode_widths(const unicode_widths&) = delete;
  unicode_widths& operator=(const unicode_widths&) = delete;

  // Of what has none: one.
  size_t columns_of(char32_t point) const {
    const int columns = ::wcwidth(static_cast<wchar_t>(point));
    return columns < 0 ? 1 : static_cast<size_t>(columns);
  }

 private:
  static locale_t utf8() {
    static const locale_t made = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return made;  // none: the locale stays
  }
  locale_t before_;
};

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

text_extent extent_within(std::string_view text, size_t columns_max) {
  const unicode_widths widths;
  text_extent taken;
  while (taken.bytes < text.size()) {
    const std::string_view left = text.substr(taken.bytes);
    if (left.front() == '\x1b') {
      const size_t end = left.find('m');
      taken.bytes += end == std::string_view::npos ? left.size() : end + 1;
      continue;
    }
    const character next = first_character(left);
    const size_t columns = widths.columns_of(next.point);
    if (columns > columns_max - taken.columns) break;
    taken.columns += columns;
    taken.bytes += next.bytes;
  }
  return taken;
}

size_t columns_of(std::string_view text) {
  return extent_within(text, SIZE_MAX).columns;
}

std::string fitted(std::string_view text, size_t columns) {
  const text_extent shown = extent_within(text, columns);
  return std::string(text.substr(0, shown.bytes)).append(columns - shown.columns, ' ');
}

}  // namespace gar
