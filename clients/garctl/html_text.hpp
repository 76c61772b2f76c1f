// HTML text: other people's words fit to stand in a page, in an element or in a quoted attribute.
//
// Threads: pure. Allocation: the text.
#pragma once

#include <string>
#include <string_view>

namespace gar {

inline std::string html_text(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    switch (c) {
      case '&':
        shown += "&amp;";
        break;
      case '<':
        shown += "&lt;";
        break;
      case '>':
        shown += "&gt;";
        break;
      case '"':
        shown += "&quot;";
        break;
      case '\'':
        shown += "&#39;";
        break;
      default:
        shown += c;
    }
  }
  return shown;
}

}  // namespace gar
