// Control request: what garctl asks gard, read from its JSON and checked whole.
//
//     {"op":"status"} caps, clients, streams, points, version, plan_show
//     {"op":"metrics","dialect":"prometheus"}                    dialect may be left out
//     {"op":"figures"}
//     {"op":"events","after":N}                                  after may be left out
//     {"op":"trace","for_ms":N}, {"op":"trace_read","trace":N}
//     {"op":"plan_set","text":TEXT,"client":NAME,"point":NAME}   client and point may be left out
//     {"op":"plan_unset","client":NAME,"point":NAME}
//     {"op":"reload","replace":false}                            replace may be left out
//
// Invariants: a request that was read has a known op and only that op's keys, each of its type and
// in its range; a plan's text is not parsed here.
// Errors: InvalidArgument{which key, what was expected}, UnknownRequest{op, the known ones}.
// Threads: pure. Allocation: names and texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/core/error.hpp"
#include "lib/core/metrics_text.hpp"
#include "lib/core/plan_registry.hpp"

namespace gar {

enum class request_op : uint8_t {
  status,
  caps,
  clients,
  streams,
  points,
  version,
  plan_show,
  metrics,
  figures,
  events,
  trace,
  trace_read,
  plan_set,
  plan_unset,
  reload,
};

std::string_view name_of(request_op op);
// Does it change the node, or what others can read of it? Such a request is taken on the control
// socket alone.
bool changes(request_op op);
// Does it tell of the whole node, whoever's it is? On the clients' socket it is root's alone.
bool whole_node(request_op op);

struct control_request {
  request_op op = request_op::status;
  plan_scope scope;                                         // plan_set, plan_unset
  std::string text;                                         // plan_set
  bool replace = false;                                     // reload
  metrics_dialect dialect = metrics_dialect::open_metrics;  // metrics
  std::optional<uint64_t> after;                            // events
  duration trace_for;                                       // trace
  uint64_t trace = 0;                                       // trace_read
};

result<control_request> parse_request(std::string_view json);

}  // namespace gar
