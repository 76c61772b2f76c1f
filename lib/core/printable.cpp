#include "lib/core/printable.hpp"

#include <fmt/core.h>

namespace gar {

std::string printable(std::string_view text, size_t bytes_max) {
  std::string shown;
  for (char c : text) {
    const bool plain = c >= 0x20 && c < 0x7f;
    const std::string one =
        plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    if (shown.size() + one.size() > bytes_max) return shown + "...";
    shown += one;
  }
  return shown;
}

}  // namespace gar
