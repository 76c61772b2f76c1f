// Socket paths: where gard listens and where its clients look.
//
// A daemon and its clients must agree on a path that nobody told them, as root and as an ordinary
// user, and a person must be able to name another. The rule, for each of the two sockets:
//
//     gard      the flag, else the environment (GARD_SOCKET, GARD_CONTROL), else the configuration,
//               else for root /run/gard/gard.sock and /run/gard-control/control.sock,
//               for others the same below $XDG_RUNTIME_DIR
//     clients   the flag alone, else the environment alone, else /run first, then $XDG_RUNTIME_DIR
//
// Invariants: a path that is returned fits a socket address (107 bytes) and holds no NUL; one that
// the environment or the configuration gave is absolute. A flag may be relative. What a library's
// caller says counts as a flag, with a name of its own.
// Errors: InvalidArgument{where the path came from, what is wrong and what was expected}. An
// XDG_RUNTIME_DIR that is no absolute path, or too long, is an error for a gard that needs it; a
// client passes over it, since no gard can listen there.
// Threads: `read_socket_environment` reads the environment (not while another thread changes it);
// the rest is pure. A set-uid program's environment is ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/error.hpp"

namespace gar {

enum class socket_role : uint8_t { clients, control };

struct socket_environment {
  std::optional<std::string> clients_path;  // GARD_SOCKET
  std::optional<std::string> control_path;  // GARD_CONTROL
  std::optional<std::string> runtime_dir;   // XDG_RUNTIME_DIR
  bool root = false;                        // the effective uid is 0
};

socket_environment read_socket_environment();

// What a person said; empty options mean that nothing was said.
struct socket_request {
  socket_role role = socket_role::clients;
  std::optional<std::string> flag;
  std::optional<std::string> configured;  // gard's configuration; clients have none
  std::string_view flag_name{};           // what the flag is called; empty: --socket, --control
};

// A path, and why it is this one: "--socket", "GARD_SOCKET", "the system's gard", ...
struct socket_candidate {
  std::string path;
  std::string origin;
  bool operator==(const socket_candidate&) const = default;
};

result<socket_candidate> listen_path(const socket_request& asked, const socket_environment& env);

// The paths to try, in this order. Never empty.
result<std::vector<socket_candidate>> connect_paths(const socket_request& asked,
                                                    const socket_environment& env);

}  // namespace gar
