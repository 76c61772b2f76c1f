// The ways of waiting for a word, as everything that reports names them.
#pragma once

#include <cstdint>
#include <string_view>

namespace gar {

// none: the software wait is not allowed, and there is nothing better.
enum class word_wait_kind : uint8_t { umwait, mwaitx, wfet, wfe, software, none };

constexpr std::string_view name_of(word_wait_kind kind) {
  switch (kind) {
    case word_wait_kind::umwait:
      return "umwait";
    case word_wait_kind::mwaitx:
      return "mwaitx";
    case word_wait_kind::wfet:
      return "wfet";
    case word_wait_kind::wfe:
      return "wfe";
    case word_wait_kind::software:
      return "software";
    case word_wait_kind::none:
      return "none";
  }
  return "";
}

}  // namespace gar
