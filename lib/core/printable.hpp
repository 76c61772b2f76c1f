// Printable text: what a person, a log line and a JSON string can take, whatever the bytes are.
//
// A text that is refused is shown in the refusal, and it came from somebody else: it may hold NUL,
// newlines, escape sequences, broken UTF-8, or be far too long.
//
// Model: printable ASCII stays; every other byte becomes "\xNN"; past `bytes_max` of output the
// rest becomes "...". Threads: pure. Allocation: the string.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gar {

std::string printable(std::string_view text, size_t bytes_max);

}  // namespace gar
