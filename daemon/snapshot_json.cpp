#include "daemon/snapshot_json.hpp"

namespace gar {
namespace {

namespace json = boost::json;

json::value text_or_null(const std::optional<std::string>& text) {
  if (!text) return nullptr;
  return json::string(*text);
}

template <class Number>
json::value number_or_null(const std::optional<Number>& number) {
  if (!number) return nullptr;
  return *number;
}

json::object kinds_json(const kind_counts& k) {
  return {
      {"blocked", k.blocked}, {"immediate", k.immediate}, {"late", k.late}, {"parked", k.parked}};
}

json::object told_json(const duration_histogram& h) {
  const auto quantile = [&h](uint32_t thousandths) -> json::value {
    const std::optional<duration> q = h.quantile(thousandths);
    return q ? json::value(q->ns) : json::value(nullptr);
  };
  return {{"samples", h.count()}, {"p50_ns", quantile(500)}, {"p99_ns", quantile(990)}};
}

json::object histogram_json(const duration_histogram& h) {
  json::array counts;
  for (const uint64_t count : h.counts) counts.push_back(count);
  return {{"counts", std::move(counts)}, {"sum_ns", h.sum_ns}};
}

json::object plan_figures_json(json::value label, const plan_statistics& p) {
  return {{"plan", std::move(label)},
          {"kinds", kinds_json(p.kinds)},
          {"waits", histogram_json(p.waits)},
          {"slept_ns", p.slept_ns},
          {"parks", p.parks},
          {"backstop_queries", p.backstop_queries}};
}

json::object executor_json(const executor_snapshot& e) {
  json::object shown{
      {"requested", e.requested}, {"running", e.running}, {"strictness", e.strictness}};
  shown["warning"] = e.warning ? json::value(warning_json(*e.warning)) : json::value(nullptr);
  return shown;
}

json::object word_wait_json(const word_wait_snapshot& w) {
  return {{"kind", w.kind}, {"hardware", w.hardware}, {"why", w.why}};
}

json::object latency_json(const latency_snapshot& l) {
  const cpu_latency_snapshot& held = l.cpu_dma_latency;
  const executor_thread_snapshot& thread = l.thread;
  return {{"cpu_dma_latency", json::object{{"requested", held.requested},
                                           {"held", held.held},
                                           {"changes", held.changes},
                                           {"refused", text_or_null(held.refused)}}},
          {"thread", json::object{{"cpu", number_or_null(thread.cpu)},
                                  {"scheduling", thread.scheduling},
                                  {"timer_slack_ns", number_or_null(thread.timer_slack_ns)},
                                  {"warnings", warnings_json(thread.warnings)}}}};
}

json::array capabilities_json(const std::vector<capability_snapshot>& capabilities) {
  json::array shown;
  for (const capability_snapshot& c : capabilities) {
    shown.push_back(json::object{{"name", c.name}, {"available", c.available}, {"why", c.why}});
  }
  return shown;
}

json::object waits_json(const wait_counts& w) {
  return {{"pending", w.pending},
          {"completed", w.completed},
          {"failed", w.failed},
          {"cancelled", w.cancelled},
          {"timed_out", w.timed_out},
          {"owner_gone", w.owner_gone},
          {"early_word", w.early_word},
          {"refused", w.refused},
          {"lost_store", w.lost_store},
          {"waited_ns", w.waited_ns},
          {"oldest_pending_ms", w.oldest_pending_ms}};
}

json::object reactor_json(const reactor_counts& r) {
  return {{"polls", r.polls},   {"woken", r.woken},     {"slept", r.slept},
          {"parked", r.parked}, {"idle_ns", r.idle_ns}, {"backstop_probes", r.backstop_probes}};
}

std::string_view scope_name(const plan_scope& scope) {
  if (scope.client) return scope.point ? "client_point" : "client";
  return scope.point ? "point" : "default";
}

}  // namespace

json::object warning_json(const error& e) {
  return {{"code", e.number()}, {"name", e.name()}, {"text", e.text()}};
}

json::array warnings_json(const std::vector<error>& warnings) {
  json::array shown;
  for (const error& w : warnings) shown.push_back(warning_json(w));
  return shown;
}

json::object status_json(const status_snapshot& s) {
  json::object shown{{"version", s.version}, {"pid", s.pid}, {"uptime_ms", s.uptime_ms}};
  shown["executor"] = executor_json(s.executor);
  shown["word_wait"] = word_wait_json(s.word_wait);
  shown["margin_floor_us"] = s.margin_floor_us;
  shown["latency"] = latency_json(s.latency);
  shown["capabilities"] = capabilities_json(s.capabilities);
  shown["plan"] = json::object{{"generation", s.plan.generation},
                               {"requested", s.plan.requested},
                               {"running", s.plan.running},
                               {"warnings", warnings_json(s.plan.warnings)}};
  shown["clients"] = s.clients;
  shown["streams"] = s.streams;
  shown["waits"] = waits_json(s.waits);
  shown["kinds"] = kinds_json(s.kinds);
  shown["reactor"] = reactor_json(s.reactor);
  shown["process"] = json::object{{"cpu_ms", s.process_cpu_ms}, {"rss_kib", s.process_rss_kib}};
  return shown;
}

json::object caps_json(const status_snapshot& s) {
  return {{"word_wait", word_wait_json(s.word_wait)},
          {"capabilities", capabilities_json(s.capabilities)}};
}

json::object client_json(const client_snapshot& c) {
  json::array drivers;
  for (const proto::driver_state& d : c.drivers) {
    drivers.push_back(json::object{{"name", d.name}, {"available", d.available}, {"why", d.why}});
  }
  return {{"id", c.id},
          {"name", c.name},
          {"uid", c.uid},
          {"gid", c.gid},
          {"pid", c.pid},
          {"connected_ms", c.connected_ms},
          {"notification", c.notification},
          {"streams", c.streams},
          {"pending", c.pending},
          {"completed", c.completed},
          {"failed", c.failed},
          {"waited_ns", c.waited_ns},
          {"oldest_pending_ms", c.oldest_pending_ms},
          {"kinds", kinds_json(c.kinds)},
          {"told", told_json(c.told)},
          {"drivers", std::move(drivers)}};
}

json::object stream_json(const stream_snapshot& s) {
  return {{"client_id", s.client_id}, {"client", s.client},
          {"stream", s.stream},       {"stream_generation", s.stream_generation},
          {"name", s.name},           {"authority", s.authority},
          {"page", s.page},           {"line", s.line},
          {"slot", s.slot},           {"base", s.base},
          {"word", s.word},           {"pending", s.pending},
          {"completed", s.completed}, {"oldest_pending_ms", s.oldest_pending_ms},
          {"waited_ns", s.waited_ns}, {"kinds", kinds_json(s.kinds)}};
}

json::object point_json(const point_snapshot& p) {
  return {{"client_id", p.client_id},
          {"client", p.client},
          {"point", text_or_null(p.point)},
          {"stream", number_or_null(p.stream)},
          {"samples", p.samples},
          {"predicted_ns", number_or_null(p.predicted_ns)},
          {"waits", p.waits},
          {"pending", p.pending},
          {"oldest_pending_ms", p.oldest_pending_ms},
          {"waited_ns", p.waited_ns},
          {"kinds", kinds_json(p.kinds)}};
}

json::object event_json(const node_event& e) {
  const error_entry* known = e.code == 0 ? nullptr : find_error(e.code);
  const auto if_client = [&e](json::value value) { return e.client == 0 ? json::value() : value; };
  return {{"number", e.number},
          {"at_ns", e.at.ns},
          {"event", name_of(e.what)},
          {"uid", number_or_null(e.uid)},
          {"client_id", if_client(e.client)},
          {"client", if_client(json::string(e.name))},
          {"stream", number_or_null(e.stream)},
          {"code", e.code == 0 ? json::value(nullptr) : json::value(e.code)},
          {"error", known ? json::value(known->name) : json::value(nullptr)},
          {"text", e.text}};
}

json::object traced_json(const traced_wait& w) {
  return {{"id", w.id},
          {"client_id", w.session},
          {"stream", w.stream},
          {"start_ns", w.start.ns},
          {"registered_ns", w.registered.ns},
          {"slept_ns", w.slept.ns},
          {"seen_ns", w.seen.ns},
          {"notified_ns", w.notified.ns},
          {"kind", w.code == 0 ? json::value(name_of(w.kind)) : json::value(nullptr)},
          {"code", w.code},
          {"parks", w.parks},
          {"backstop_queries", w.backstop_queries},
          {"confirmed", w.confirmed}};
}

json::object figures_json(const node_figures& f) {
  json::object kinds;
  for (const wait_kind kind :
       {wait_kind::blocked, wait_kind::immediate, wait_kind::late, wait_kind::parked}) {
    kinds[name_of(kind)] = histogram_json(f.waits.of_kind(kind));
  }
  json::array bounds;
  for (const uint64_t bound : duration_histogram::bounds_ns) bounds.push_back(bound);
  json::array plans;
  for (const plan_statistics& each : f.waits.plans()) {
    plans.push_back(plan_figures_json(json::string(each.how.label()), each));
  }
  plans.push_back(plan_figures_json(nullptr, f.waits.other_plans()));
  json::object events;
  for (size_t i = 0; i < event_kinds; ++i) {
    events[name_of(static_cast<event_kind>(i))] = f.events[i];
  }
  return {{"bounds_ns", std::move(bounds)},
          {"kinds", std::move(kinds)},
          {"plans", std::move(plans)},
          {"told", histogram_json(f.told)},
          {"events", std::move(events)}};
}

json::object plan_json(const plan_in_force& p) {
  return {{"scope", scope_name(p.scope)},         {"client", text_or_null(p.scope.client)},
          {"point", text_or_null(p.scope.point)}, {"source", name_of(p.source)},
          {"requested", p.requested.label()},     {"running", p.running.label()},
          {"warnings", warnings_json(p.warnings)}};
}

}  // namespace gar
