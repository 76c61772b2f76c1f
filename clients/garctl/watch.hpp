// `garctl watch`: gard's events as they happen, a line each, until it is ended.
//
// gard keeps the last events and is asked for new ones a few times a second, over whichever socket
// answers; on the clients' socket one sees only what concerns the own user's clients.
//
// Invariants: each event is printed once; a gard that is gone is waited for, and said so once.
// Threads: one. Blocking: until `for`, for ever without it, or until the output cannot be written.
// Errors: as requests.hpp, for the first question alone.
#pragma once

#include "clients/garctl/command_line.hpp"
#include "clients/garctl/requests.hpp"

namespace gar {

int watch(const command_line& line, terminal& with);

}  // namespace gar
