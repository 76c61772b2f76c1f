// UTF-8: is a text well formed, and how does a text that may not be become one that is?
//
// Well formed means what Unicode's table 3-7 allows: shortest forms only, no surrogates, nothing
// above U+10FFFF. A control character is one of U+0000..U+001F and U+007F..U+009F.
//
// Threads: pure functions. Allocation: only clean_text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gar {

// The character at the front of a text that is not empty; where none is well formed, one byte.
struct character {
  char32_t point = U'\ufffd';
  size_t bytes = 1;
  bool well_formed = false;
};
character first_character(std::string_view text);

// Are these bytes well-formed UTF-8?
bool valid_utf8(std::string_view text);

// The same, and without control characters.
bool valid_plain_text(std::string_view text);

// The longest front part of at most `bytes_max` bytes that cuts no character of a well-formed text
// in two.
std::string_view utf8_prefix(std::string_view text, size_t bytes_max);

// A plain text of at most `bytes_max` bytes, from bytes of any kind: every byte that is not part of
// a well-formed character, and every control character, becomes '?'.
std::string clean_text(std::string_view bytes, size_t bytes_max);

}  // namespace gar
