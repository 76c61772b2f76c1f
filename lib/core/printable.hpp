// Printable text: what a person, a log line and a JSON string can take, whatever the bytes are.
//
// A text that is refused is shown in the refusal, and it came from somebody else: it may hold NUL,
// newlines, escape sequences, broken UTF-8, or be far too long.
//
// Model: two degrees, each with "\xNN" for a byte that does not stay.
//   printable      printable ASCII stays; past `bytes_max` of output the rest becomes "..."
//   readable_text  UTF-8 stays, but for what a terminal obeys: controls, and what cannot be seen,
//                  or reorders or hides the text around it
// Threads: pure. Allocation: the string.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gar {

std::string printable(std::string_view text, size_t bytes_max);
std::string readable_text(std::string_view text);

}  // namespace gar
