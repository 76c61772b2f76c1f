// Snapshot JSON: what gard shows of itself, in the shapes that garctl and the schemas in proto/
// know.
//
// Invariants: each key is the field's name in lib/core/node_snapshot.hpp; numbers are numbers; what
// is not set is null. Threads: pure. Allocation: the values.
#pragma once

#include <boost/json/value.hpp>

#include "lib/core/event_log.hpp"
#include "lib/core/node_metrics.hpp"
#include "lib/core/node_snapshot.hpp"
#include "lib/core/plan_registry.hpp"
#include "lib/core/wait_trace.hpp"

namespace gar {

// {"code":N,"name":"..","text":".."}
boost::json::object warning_json(const error& e);
boost::json::array warnings_json(const std::vector<error>& warnings);

boost::json::object status_json(const status_snapshot& s);
boost::json::object caps_json(const status_snapshot& s);
boost::json::object client_json(const client_snapshot& c);
boost::json::object stream_json(const stream_snapshot& s);
boost::json::object point_json(const point_snapshot& p);
boost::json::object plan_json(const plan_in_force& p);
boost::json::object event_json(const node_event& e);
boost::json::object traced_json(const traced_wait& w);
boost::json::object figures_json(const node_figures& f);

}  // namespace gar
