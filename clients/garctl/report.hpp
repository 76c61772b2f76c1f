// `garctl report`: asks gard what it did since its start, and writes it as one page for a browser.
//
// Invariants: those of output_file. Threads: one. Blocking: as gard_link, and as the file.
// Errors: as requests.hpp; 1 too where the file cannot be written, which is said before gard is
// asked.
#pragma once

#include "clients/garctl/command_line.hpp"
#include "clients/garctl/requests.hpp"

namespace gar {

int report(const command_line& line, terminal& with);

}  // namespace gar
