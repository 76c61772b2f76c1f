// The one way in which a refused system call becomes an error: SystemCall{call, what errno says},
// with errno kept as os_number.
//
// Threads: any. Allocation: the error's two strings.
#pragma once

#include <string>

#include "lib/core/error.hpp"

namespace gar {

// `call` names the call and, where it helps, what it was asked for: "bind /run/gard/gard.sock".
error system_error(std::string call, int os_number);

// As above, with the errno that the last call left.
error last_system_error(std::string call);

// What errno means, as a sentence's part.
std::string text_of_errno(int os_number);

}  // namespace gar
