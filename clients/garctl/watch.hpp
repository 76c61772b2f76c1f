// `garctl watch`: gard's events as they happen, a line each, until it is ended.
//
// gard keeps the last events and is asked for new ones a few times a second, over whichever socket
// answers; on the clients' socket one sees only what concerns the own user's clients.
//
// Invariants: each event is printed once, whichever socket answers. A gard that is gone, silent or
// full is waited for, and said so once; where it still is at the end, that is the exit status.
// Threads: one. Blocking: until `for`, and half a second at most for an answer; for ever without
// it, or until nobody reads the output. Errors: as requests.hpp, for the first question.
#pragma once

#include "clients/garctl/command_line.hpp"
#include "clients/garctl/requests.hpp"

namespace gar {

int watch(const command_line& line, terminal& with);

}  // namespace gar
