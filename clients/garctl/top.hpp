// `garctl top`: what goes on at the node, on the whole screen, until its reader leaves.
//
// Where the output is no terminal it is a page: two looks a second apart, printed, and again as
// long as `--for` says.
//
// Threads: one. Blocking: as long as it runs. Errors: as requests.hpp, for the first look; on
// a terminal later ones are said on the screen, a page that cannot be made ends it.
#pragma once

#include "clients/garctl/command_line.hpp"
#include "clients/garctl/requests.hpp"

namespace gar {

int top(const command_line& line, terminal& with);

}  // namespace gar
