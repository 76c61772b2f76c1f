#include "daemon/fatal.hpp"

#include <fmt/core.h>

#include <cstdlib>

#include "daemon/log.hpp"

namespace gar {

int fatal(const error& e) {
  const error_entry* entry = find_error(e.number());
  log(log_level::error, fmt::format("{}. {}", e.headline(), entry ? entry->remedy : ""));
  return entry && entry->exit_status > 1 ? entry->exit_status : internal_status;
}

void end_at_once(const error& e, int exit_status) {
  (void)fatal(e);
  std::_Exit(exit_status);
}

}  // namespace gar
