// Numbers and texts as a person reads them: a duration in the unit that fits, a size in binary
// units, a peer's text with nothing in it that a terminal would obey.
//
// Units: what comes in is in the name. Threads: pure. Allocation: the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/core/printable.hpp"  // readable_text

namespace gar {

// "950 ns", "12.3 us", "4.56 ms", "1.23 s", "3 min 12 s", "2 h 5 min", "3 d 4 h"
std::string readable_ns(uint64_t ns);
// "512 KiB", "5.10 MiB", "1.00 GiB"
std::string readable_kib(uint64_t kib);

// Columns are a terminal's: two for a wide character, none for a combining one and for escape
// sequences.
struct text_extent {
  size_t bytes = 0;
  size_t columns = 0;
};
// The longest front part of at most so many columns; no character is cut.
text_extent extent_within(std::string_view text, size_t columns_max);
size_t columns_of(std::string_view text);
// Cut and filled with blanks to so many columns.
std::string fitted(std::string_view text, size_t columns);

}  // namespace gar
