// Depth of a TOML text's keys: bounded before the parser sees it.
//
// toml++ makes a table of each part of "a.b.c" and walks them by recursion, so that a key of many
// parts takes the whole stack and with it the daemon.
//
// Model: dots outside of strings and comments are counted between the characters that can begin or
// end a key. Values have few dots there, and what is no TOML is told by the parser.
// Threads: pure. Allocation: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gar {

// Twice as many as any key has that gard knows. The parser bounds nested values by itself, and each
// of them may have a key like this.
inline constexpr size_t config_key_parts_max = 8;

struct text_place {
  uint32_t line;
  uint32_t column;  // in characters
};

// Of the first dot that is one too many.
std::optional<text_place> too_deep_key(std::string_view toml);

}  // namespace gar
