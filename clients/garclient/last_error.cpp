#include "clients/garclient/last_error.hpp"

#include <cstring>

#include "lib/core/utf8.hpp"

namespace gar::owner {

last_error& last_error_here() {
  thread_local last_error here;
  return here;
}

int failed(const error& e) noexcept {
  last_error& here = last_error_here();
  here.number = e.number();
  try {
    here.text = e.text();
  } catch (const std::bad_alloc&) {
    here.text.clear();  // gar_last_error gives the registry's
  }
  return here.number;
}

int failed_for_memory() noexcept {
  last_error& here = last_error_here();
  here.number = static_cast<int>(errc::SystemCall);
  here.text.clear();
  return here.number;
}

void copy_text(std::string_view said, char* text, size_t capacity_bytes) {
  if (!text || capacity_bytes == 0) return;
  const std::string_view fits = utf8_prefix(said, capacity_bytes - 1);
  std::memcpy(text, fits.data(), fits.size());
  text[fits.size()] = '\0';
}

}  // namespace gar::owner
