// Handed sockets: those on which the service manager listened before gard was there.
//
// A manager that listens lets a client's connect start gard, keeps who connects while gard restarts
// in the queue, and gives the sockets' files to their groups, so that gard needs no right to do so.
// The sockets are told apart by name (FileDescriptorName= of the socket units):
//
//   clients   SOCK_SEQPACKET
//   control   SOCK_STREAM
//
// Invariants: each is there once or not at all; what is there listens, is a Unix socket of its
// kind, non-blocking and closed on exec. Their files are the manager's: gard neither makes nor
// removes them. Threads: one, at start; the environment that told of them is cleared. Ownership:
// the caller's. Errors: InvalidArgument{LISTEN_FDS, which descriptor and what was expected};
// SystemCall. A build without libsystemd is handed nothing.
#pragma once

#include <optional>
#include <string>

#include "lib/core/error.hpp"
#include "lib/linux/unique_fd.hpp"

namespace gar {

struct handed_socket {
  unique_fd fd;
  std::string path;
};

struct handed_sockets {
  std::optional<handed_socket> clients;
  std::optional<handed_socket> control;
};

result<handed_sockets> take_handed_sockets();

}  // namespace gar
