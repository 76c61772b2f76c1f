// Quantities as people write them: "50us", "2MiB".
//
// A bare number in a configuration is a guess waiting to go wrong by a factor of a thousand. Every
// duration and size that a person writes carries its unit; a number without one is refused.
//
//     duration  digits ("ns" | "us" | "ms" | "s")
//     bytes     digits ("B" | "KiB" | "MiB" | "GiB")
//
// Invariants: `text_of` uses the largest unit that says the value exactly and parses back to it.
// Decimal digits only, no sign, no blanks, no leading zero; what does not fit 64 bits is refused.
// Errors: InvalidArgument{text, what was expected}.
// Threads: pure. Allocation: texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/core/error.hpp"
#include "lib/core/time.hpp"

namespace gar {

result<duration> parse_duration(std::string_view text);
result<uint64_t> parse_bytes(std::string_view text);

std::string text_of(duration d);
std::string text_of_bytes(uint64_t bytes);

}  // namespace gar
