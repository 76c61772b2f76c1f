#include "lib/core/printable.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "lib/core/utf8.hpp"

namespace gar {
namespace {

struct range {
  char32_t first;
  char32_t last;
};

// Controls, ends of lines and paragraphs, interlinear marks, and Unicode's
// Default_Ignorable_Code_Point. Without U+FE00..U+FE0F, which ordinary emoji have: they choose a
// form of what stands before them.
constexpr auto obeyed = std::to_array<range>({
    {0x0000, 0x001f},    // C0
    {0x007f, 0x009f},    // DEL, C1
    {0x00ad, 0x00ad},    // soft hyphen
    {0x034f, 0x034f},    // grapheme joiner
    {0x061c, 0x061c},    // Arabic letter mark
    {0x115f, 0x1160},    // Hangul fillers
    {0x17b4, 0x17b5},    // Khmer's inherent vowels
    {0x180b, 0x180f},    // Mongolian selectors and separator
    {0x200b, 0x200f},    // zero width, direction marks
    {0x2028, 0x202e},    // separators, embeddings and overrides
    {0x2060, 0x206f},    // word joiner, invisible operators, isolates, deprecated formats
    {0x3164, 0x3164},    // Hangul filler
    {0xfeff, 0xfeff},    // byte order mark
    {0xffa0, 0xffa0},    // halfwidth Hangul filler
    {0xfff0, 0xfffb},    // unassigned ignorables, interlinear annotations
    {0x1bca0, 0x1bca3},  // shorthand formats
    {0x1d173, 0x1d17a},  // musical beams and slurs
    {0xe0000, 0xe0fff},  // tags, further selectors
});

bool stays(const character& c) {
  if (!c.well_formed) return false;
  return std::none_of(obeyed.begin(), obeyed.end(), [&](const range& each) {
    return c.point >= each.first && c.point <= each.last;
  });
}

std::string byte_as_number(char c) {
  return fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
}

}  // namespace

std::string printable(std::string_view text, size_t bytes_max) {
  std::string shown;
  for (char c : text) {
    const bool plain = c >= 0x20 && c < 0x7f;
    const std::string one = plain ? std::string(1, c) : byte_as_number(c);
    if (shown.size() + one.size() > bytes_max) return shown + "...";
    shown += one;
  }
  return shown;
}

std::string readable_text(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const character next = first_character(text);
    const std::string_view bytes = text.substr(0, next.bytes);
    if (stays(next)) {
      shown += bytes;
    } else {
      for (const char c : bytes) shown += byte_as_number(c);
    }
    text.remove_prefix(next.bytes);
  }
  return shown;
}

}  // namespace gar
