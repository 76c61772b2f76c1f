// Numbers and texts as a person reads them: a duration in the unit that fits, a size in binary
// units, a peer's text with nothing in it that a terminal would obey.
//
// Units: what comes in is in the name. Threads: pure. Allocation: the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gar {

// "950 ns", "12.3 us", "4.56 ms", "1.23 s", "3 min 12 s", "2 h 5 min", "3 d 4 h"
std::string readable_ns(uint64_t ns);
// "512 KiB", "5.1 MiB", "1.0 GiB"
std::string readable_kib(uint64_t kib);
// Control characters (C0, DEL and C1) become "\xNN"; other UTF-8 stays.
std::string readable_text(std::string_view text);
// How many columns a text takes, its escape sequences not counted: one a code point.
size_t columns_of(std::string_view text);

}  // namespace gar
