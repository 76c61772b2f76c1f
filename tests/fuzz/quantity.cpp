// Durations and sizes as people write them: what parses is what a reader in wider numbers makes of
// it, and its own print parses back to it.
#include "lib/core/quantity.hpp"

#include <optional>
#include <string>
#include <utility>

#include "tests/fuzz/target.hpp"

namespace gar::fuzz {
namespace {

using units = std::initializer_list<std::pair<std::string_view, uint64_t>>;

std::optional<uint64_t> read_wide(std::string_view text, units known) {
  size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  if (digits == 0 || (digits > 1 && text[0] == '0')) return std::nullopt;
  unsigned __int128 value = 0;
  for (const char digit : text.substr(0, digits)) {
    value = value * 10 + static_cast<unsigned>(digit - '0');
    if (value > UINT64_MAX) return std::nullopt;
  }
  for (const auto& [unit, factor] : known) {
    if (text.substr(digits) != unit) continue;
    value *= factor;
    if (value > UINT64_MAX) return std::nullopt;
    return static_cast<uint64_t>(value);
  }
  return std::nullopt;
}

}  // namespace
}  // namespace gar::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace gar;
  const std::string_view text(reinterpret_cast<const char*>(data), bytes);
  const result<duration> time = parse_duration(text);
  const auto wide_time =
      fuzz::read_wide(text, {{"ns", 1}, {"us", 1000}, {"ms", 1'000'000}, {"s", 1'000'000'000}});
  must(time.has_value() == wide_time.has_value());
  if (time) {
    must(time->ns == *wide_time);
    const result<duration> again = parse_duration(text_of(*time));
    must(again && *again == *time);
  }
  const result<uint64_t> size = parse_bytes(text);
  const auto wide_size =
      fuzz::read_wide(text, {{"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}});
  must(size.has_value() == wide_size.has_value());
  if (size) {
    must(*size == *wide_size);
    const result<uint64_t> again = parse_bytes(text_of_bytes(*size));
    must(again && *again == *size);
  }
  return 0;
}
