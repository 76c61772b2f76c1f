// Reading gard's answers field by field, whatever gard sent.
//
// gard and garctl may be of different versions: a field may be missing, or hold something else than
// expected. A person then sees "?" in its place, and everything else.
//
// Threads: pure. Allocation: texts. Errors: none.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gar {

// "plan.requested": the value there, or nullptr.
const boost::json::value* field_at(const boost::json::value& from, std::string_view path);

// The text, ready for a terminal; "?" where there is none.
std::string text_field(const boost::json::value& from, std::string_view path);
// The text, or nullopt where there is none, or null.
std::optional<std::string> optional_text_field(const boost::json::value& from,
                                               std::string_view path);
std::optional<uint64_t> count_field(const boost::json::value& from, std::string_view path);
uint64_t count_or_0(const boost::json::value& from, std::string_view path);
// As digits; "?" where there is no count.
std::string count_text(const boost::json::value& from, std::string_view path);
bool flag_field(const boost::json::value& from, std::string_view path);

// The list: the answer itself, or its field `name`; an empty one where there is none.
const boost::json::array& list_field(const boost::json::value& from, std::string_view name);

}  // namespace gar
