// Reading a node for `garctl doctor`: asks gard, reads the host's files, tries and times a little.
//
// Threads: one. Blocking: as gard_link; up to `host_timing_budget` for trying, and as long as the
// drivers take to start. Errors: none; what could not be seen is absent in the answer.
#pragma once

#include <optional>
#include <string>

#include "clients/garctl/gard_link.hpp"
#include "clients/garctl/node_seen.hpp"

namespace gar {

// `control` is the socket that was named to garctl.
result<node_seen> read_node(const std::optional<std::string>& control);

}  // namespace gar
