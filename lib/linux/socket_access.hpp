// Socket access: who may connect to a socket, and the directory that it lies in.
//
// The group decides who may use a machine's gard. Where the system has no such group, a socket that
// is open to all would be worse than one that is open to nobody else.
//
//     the group exists, and this process may give a file to it   mode 0660, that group
//     else                                                       mode 0600, the running uid's alone
//
// Threads: at start. Blocking: looks the group up, which may ask a name service.
// Errors: make_socket_directory: SystemCall{what, why}.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "lib/core/error.hpp"

namespace gar {

struct socket_access {
  mode_t mode = 0600;
  std::optional<gid_t> group;
  std::optional<error> warning;  // SocketPrivate{group, path, uid}: there is no such group
};

socket_access access_for_group(const std::string& group, const std::string& socket_path);

// Makes the directories of `socket_path` that are missing, mode 0755. Those that exist stay as they
// are.
result<void> make_socket_directory(const std::string& socket_path);

}  // namespace gar
