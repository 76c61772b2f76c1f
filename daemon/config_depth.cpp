#include "daemon/config_depth.hpp"

#include <algorithm>

namespace gar {
namespace {

// Behind the string that begins here. One of a single line that does not end there is no TOML; the
// parser gets no further.
size_t string_end(std::string_view toml, size_t begin) {
  const char quote = toml[begin];
  const std::string_view three = quote == '"' ? "\"\"\"" : "'''";
  const bool of_lines = toml.substr(begin).starts_with(three);
  const std::string_view mark = of_lines ? three : three.substr(0, 1);
  for (size_t at = begin + mark.size(); at < toml.size(); ++at) {
    if (toml[at] == '\\' && quote == '"') {
      ++at;
    } else if (toml[at] == '\n' && !of_lines) {
      return at;
    } else if (toml.substr(at).starts_with(mark)) {
      at += mark.size();
      // Up to two more may stand before the mark, as the text's own.
      for (int more = 0; of_lines && more < 2 && at < toml.size() && toml[at] == quote; ++more)
        ++at;
      return at;
    }
  }
  return toml.size();
}

text_place place_of(std::string_view toml, size_t at) {
  const std::string_view before = toml.substr(0, at);
  const size_t last = before.rfind('\n');
  const std::string_view row = last == std::string_view::npos ? before : before.substr(last + 1);
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  return {static_cast<uint32_t>(1 + std::count(before.begin(), before.end(), '\n')),
          static_cast<uint32_t>(1 + std::count_if(row.begin(), row.end(), begins))};
}

}  // namespace

std::optional<text_place> too_deep_key(std::string_view toml) {
  size_t dots = 0;
  for (size_t at = 0; at < toml.size();) {
    const char c = toml[at];
    if (c == '"' || c == '\'') {
      at = string_end(toml, at);
      continue;
    }
    if (c == '#') {
      at = std::min(toml.find('\n', at), toml.size());
      continue;
    }
    if (c == '.' && ++dots == config_key_parts_max) return place_of(toml, at);
    if (std::string_view("\n=,[]{}").find(c) != std::string_view::npos) dots = 0;
    ++at;
  }
  return std::nullopt;
}

}  // namespace gar
