#include "clients/garctl/caret.hpp"

#include <limits>

#include "lib/core/printable.hpp"

namespace gar {
namespace {

// A plan's text is refused at its 512th byte at the latest; this much more says enough.
constexpr size_t shown_behind_bytes = 64;

constexpr size_t whole = std::numeric_limits<size_t>::max();

}  // namespace

std::string caret_under(std::string_view text, size_t position) {
  const std::string before = printable(text.substr(0, position), whole);
  std::string shown = before;
  if (position < text.size()) {
    const std::string_view behind = text.substr(position, shown_behind_bytes);
    shown += printable(behind, whole);
    if (position + behind.size() < text.size()) shown += "...";
  }
  return shown + '\n' + std::string(before.size(), ' ') + "^\n";
}

}  // namespace gar
