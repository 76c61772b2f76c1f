#include "lib/linux/system_call.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

namespace gar {

std::string text_of_errno(int os_number) {
  return std::generic_category().message(os_number);
}

error system_error(std::string call, int os_number) {
  return error(errc::SystemCall, {std::move(call), text_of_errno(os_number)}, os_number);
}

error last_system_error(std::string call) {
  return system_error(std::move(call), errno);
}

}  // namespace gar
