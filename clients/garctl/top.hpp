// `garctl top`: what goes on at the node, on the whole screen, until its reader leaves.
//
// Where the output is no terminal it is a page: what changed since the look before, printed; with
// `--for` one a second, for so long and while its reader reads.
//
// A gard that goes is waited for, but for a lone page. On a terminal the screen says so, else one
// line of `err`, and where it had not come back at the end that is the exit status.
// Threads: one. Blocking: as long as it runs; past `--for` half a second at most, for an answer.
// Errors: as requests.hpp, for the first look.
#pragma once

#include "clients/garctl/command_line.hpp"
#include "clients/garctl/requests.hpp"

namespace gar {

int top(const command_line& line, terminal& with);

}  // namespace gar
