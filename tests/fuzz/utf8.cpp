// UTF-8: the checks agree with a decoder that takes characters apart, and what is cleaned or cut is
// well formed and fits.
#include "lib/core/utf8.hpp"

#include <optional>
#include <string>

#include "lib/core/codec.hpp"
#include "lib/core/printable.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

namespace gar::fuzz {
namespace {

// The character at the front, and its length; none where it is not well formed.
std::optional<std::pair<uint32_t, size_t>> first_of(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const size_t length = at(0) < 0x80             ? 1
                        : (at(0) & 0xe0) == 0xc0 ? 2
                        : (at(0) & 0xf0) == 0xe0 ? 3
                        : (at(0) & 0xf8) == 0xf0 ? 4
                                                 : 0;
  if (length == 0 || length > text.size()) return std::nullopt;
  uint32_t value = length == 1 ? at(0) : at(0) & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return std::nullopt;
    value = value << 6 | (at(i) & 0x3f);
  }
  constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < least[length] || value > 0x10ffff) return std::nullopt;
  if (value >= 0xd800 && value <= 0xdfff) return std::nullopt;
  return std::pair{value, length};
}

struct verdict {
  bool valid = true;
  bool plain = true;
};
verdict judge(std::string_view text) {
  verdict v;
  while (!text.empty()) {
    const auto first = first_of(text);
    if (!first) return {false, false};
    if (first->first < 0x20 || (first->first >= 0x7f && first->first < 0xa0)) v.plain = false;
    text.remove_prefix(first->second);
  }
  return v;
}

}  // namespace
}  // namespace gar::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace gar;
  fuzz::input from(data, bytes);
  const size_t bytes_max = from.byte();
  const std::string_view text = from.rest_as_text();
  const fuzz::verdict right = fuzz::judge(text);
  must(valid_utf8(text) == right.valid);
  must(valid_plain_text(text) == right.plain);
  const std::string clean = clean_text(text, bytes_max);
  must(clean.size() <= bytes_max && valid_plain_text(clean));
  if (right.plain && text.size() <= bytes_max) must(clean == text);
  if (right.valid) {
    const std::string_view front = utf8_prefix(text, bytes_max);
    must(front.size() <= bytes_max && text.starts_with(front) && valid_utf8(front));
    must(front.size() == text.size() || front.size() + 4 > bytes_max);
  }
  must(valid_plain_text(printable(text, bytes_max)));
  const std::string readable = readable_text(text);
  must(valid_plain_text(readable) && readable_text(readable) == readable);
  char call[proto::call_field_bytes];
  proto::set_call(call, text);
  must(call[sizeof(call) - 1] == '\0' && valid_plain_text(call));
  return 0;
}
