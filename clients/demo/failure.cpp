#include "clients/demo/failure.hpp"

#include <fmt/core.h>

#include <stdexcept>

#include "clients/garclient/gar.h"

namespace gar {

void throw_exception_from_error(const demo_failure& f, const boost::source_location&) {
  throw std::logic_error(f.text);
}

demo_failure failure_of(std::string_view call, const error& e) {
  return {e.number(), fmt::format("{}: {}", call, e.headline())};
}

demo_failure library_failure(std::string_view call, int number) {
  char text[1024] = "";
  const bool told = gar_last_error(text, sizeof(text)) == number;
  return {static_cast<uint16_t>(number),
          fmt::format("{}: {:#06x} {}: {}", call, number, gar_error_name(number),
                      told ? text : gar_error_text(number))};
}

}  // namespace gar
