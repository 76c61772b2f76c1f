// The place of a fault in a text, for a person: the text, and a caret under the byte.
//
// Model: two lines. Bytes that a terminal would not show as one column are shown escaped, and the
// caret counts with that. A text goes on a little behind the fault, then "...".
// Threads: pure. Allocation: the text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gar {

std::string caret_under(std::string_view text, size_t position);

}  // namespace gar
