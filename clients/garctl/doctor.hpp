// `garctl doctor`: what is good about this node, what costs latency or CPU, and what would change
// it.
//
// Model: reads the node (node_reading.hpp), judges it (findings.hpp), shows it (findings_page.hpp).
// Needs no gard: that none answers is a finding.
// Threads: one. Blocking: as node_reading.
// Exit status: 0 where nothing is broken, 1 where something is; 2 as everywhere.
#pragma once

#include "clients/garctl/command_line.hpp"
#include "clients/garctl/requests.hpp"

namespace gar {

int doctor(const command_line& line, terminal& with);

}  // namespace gar
