// Node metrics: what a monitoring system is told of the node.
//
// Invariants: the set of series is bounded, whoever connects: no label comes from a client. A
// plan's text is a label, which the operator chose; at most wait_statistics::plans_max of them and
// "other".
// Threads: pure. Allocation: the text.
#pragma once

#include <array>
#include <string>

#include "lib/core/event_log.hpp"
#include "lib/core/metrics_text.hpp"
#include "lib/core/node_snapshot.hpp"
#include "lib/core/wait_statistics.hpp"

namespace gar {

// What status does not have.
struct node_figures {
  wait_statistics waits;
  std::array<uint64_t, event_kinds> events{};
  duration_histogram told;  // from the look that saw a word to the wake, of some waits
};

// `status` as for the control socket: the whole node's.
std::string node_metrics(const status_snapshot& status, const node_figures& figures,
                         metrics_dialect as);

}  // namespace gar
