// `garctl report`: asks gard what it did since its start, and writes it as one page for a browser.
//
// Invariants: the file is whole when this ends with 0; one that was there is kept until then.
// Threads: one. Blocking: as gard_link. Errors: as requests.hpp; 1 too where the file cannot be
// written.
#pragma once

#include "clients/garctl/command_line.hpp"
#include "clients/garctl/requests.hpp"

namespace gar {

int report(const command_line& line, terminal& with);

}  // namespace gar
