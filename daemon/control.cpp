#include "daemon/control.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "daemon/answer_json.hpp"
#include "daemon/request.hpp"
#include "daemon/snapshot_json.hpp"
#include "proto/limits.hpp"

namespace gar {
namespace {

namespace json = boost::json;

// A list, a part of it a step.
template <class Entry, class ToJson>
stepwise_answer list_answer(std::string_view name, ToJson to_json,
                            std::function<std::vector<Entry>(list_place&)> read) {
  struct state {
    list_text text;
    list_place at;
  };
  auto so_far = std::make_shared<state>(state{list_text(name), {}});
  return stepwise_answer([so_far, to_json, read = std::move(read)](std::string& whole) {
    so_far->text.add(read(so_far->at), to_json);
    if (so_far->at.ended) whole = so_far->text.end();
    return so_far->at.ended;
  });
}

class answerer {
 public:
  answerer(engine& node, const request_scope& scope, const std::string& config_file)
      : node_(node), scope_(scope), config_file_(config_file) {}

  stepwise_answer answer(const control_request& request) {
    // What goes on in later steps outlives this answerer, and keeps a scope of its own.
    engine* const node = &node_;
    const request_scope scope = scope_;
    switch (request.op) {
      case request_op::status:
        return success_json(status_json(node_.status(scope_)));
      case request_op::caps:
        return success_json(caps_json(node_.status(scope_)));
      case request_op::clients:
        return list_answer<client_snapshot>(
            "clients", client_json, [=](list_place& at) { return node->clients(scope, at); });
      case request_op::streams:
        return list_answer<stream_snapshot>(
            "streams", stream_json, [=](list_place& at) { return node->streams(scope, at); });
      case request_op::points:
        return list_answer<point_snapshot>("points", point_json,
                                           [=](list_place& at) { return node->points(scope, at); });
      case request_op::version:
        return version();
      case request_op::plan_show:
        return plan_show();
      case request_op::metrics:
        return success_json({{"text", node_.metrics(request.dialect)}});
      case request_op::figures:
        return success_json(figures_json(node_.figures()));
      case request_op::events:
        return events(request.after);
      case request_op::trace:
        return trace(request.trace_for);
      case request_op::trace_read:
        return read_trace(request.trace);
      case request_op::plan_set:
        return plan_set(request);
      case request_op::plan_unset:
        return generation(node_.plan_unset(request.scope));
      case request_op::reload:
        return reload(request.replace);
    }
    GAR_ASSERT(!"every op is answered");
    return std::string();
  }

 private:
  std::string version() {
    return success_json({{"version", node_.status(scope_).version},
                         {"protocol_min", proto::version_min},
                         {"protocol_max", proto::version_max}});
  }

  // A user sees the plans that can apply to its own clients.
  std::vector<plan_in_force> visible_plans() {
    std::vector<plan_in_force> plans = node_.plans();
    if (!scope_.uid) return plans;
    std::set<std::string> own;
    for (list_place at; !at.ended;) {
      for (const client_snapshot& client : node_.clients(scope_, at)) own.insert(client.name);
    }
    std::erase_if(plans, [&](const plan_in_force& p) {
      return p.scope.client && !own.contains(*p.scope.client);
    });
    return plans;
  }

  std::string plan_show() {
    const std::string generation = std::to_string(node_.plan_generation());
    list_text text("plans", R"("generation":)" + generation + ",");
    text.add(visible_plans(), plan_json);
    return text.end();
  }

  std::string events(std::optional<uint64_t> after) {
    const engine::events_part part = node_.events(scope_, after);
    json::array shown;
    for (const node_event& e : part.read.events) shown.push_back(event_json(e));
    return success_json({{"log", part.log},
                         {"now_ns", part.now.ns},
                         {"next", part.read.next},
                         {"lost", part.read.lost},
                         {"more", part.read.more},
                         {"events", std::move(shown)}});
  }

  std::string trace(duration how_long) {
    const result<uint64_t> begun = node_.trace(how_long);
    if (!begun) return refusal_json(begun.error());
    return success_json({{"trace", *begun}});
  }

  std::string read_trace(uint64_t which) {
    const result<tracing::part> part = node_.read_trace(which);
    if (!part) return refusal_json(part.error());
    json::array shown;
    for (const traced_wait& w : part->waits) shown.push_back(traced_json(w));
    return success_json(
        {{"waits", std::move(shown)}, {"lost", part->lost}, {"ended", part->ended}});
  }

  std::string plan_set(const control_request& request) {
    plan_fault fault;
    const std::optional<bands> parsed = bands::parse(request.text, fault);
    if (!parsed) {
      return refusal_json(bands::parse(request.text).error(), fault);
    }
    const result<uint64_t> set = node_.plan_set(request.scope, *parsed);
    if (!set) return refusal_json(set.error());
    json::object shown{{"generation", *set}, {"label", parsed->label()}};
    for (const plan_in_force& plan : node_.plans()) {
      if (plan.scope != request.scope) continue;
      shown["running"] = plan.running.label();
      shown["warnings"] = warnings_json(plan.warnings);
    }
    return success_json(std::move(shown));
  }

  std::string reload(bool replace) {
    const result<uint64_t> reloaded = node_.reload(replace);
    if (!reloaded) return refusal_json(reloaded.error());
    const json::value file =
        config_file_.empty() ? json::value(nullptr) : json::value(config_file_);
    return success_json({{"generation", *reloaded}, {"file", file}});
  }

  static std::string generation(const result<uint64_t>& done) {
    if (!done) return refusal_json(done.error());
    return success_json({{"generation", *done}});
  }

  engine& node_;
  const request_scope& scope_;
  const std::string& config_file_;
};

}  // namespace

stepwise_answer answer_request(engine& node, std::string_view text, request_scope scope,
                               const std::string& config_file) {
  const result<control_request> request = parse_request(text);
  if (!request) return refusal_json(request.error());
  const bool not_theirs = whole_node(request->op) && scope.uid && scope.uid != 0u;
  if ((scope.read_only && changes(request->op)) || not_theirs) {
    return refusal_json(error(errc::PermissionDenied, {std::string(name_of(request->op))}));
  }
  if (scope.uid == 0u) scope.uid.reset();
  return answerer(node, scope, config_file).answer(*request);
}

}  // namespace gar
