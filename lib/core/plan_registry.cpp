#include "lib/core/plan_registry.hpp"

#include <algorithm>
#include <utility>

#include "proto/wire.hpp"

namespace gar {

std::string_view name_of(plan_source source) {
  switch (source) {
    case plan_source::built_in:
      return "built-in";
    case plan_source::config:
      return "config";
    case plan_source::runtime:
      return "runtime";
  }
  return "";
}

std::string plan_scope::text() const {
  if (client && point) return "client " + *client + " at point " + *point;
  if (client) return "client " + *client;
  if (point) return "point " + *point;
  return "the default";
}

const bands& published_plans::select(std::string_view point) const {
  const entry* best = &entries_.front();
  for (const entry& e : entries_) {
    const bool applies = e.point.empty() || e.point == point;
    if (applies && e.scope > best->scope) best = &e;  // proto::scope_* rise in precedence
  }
  return best->running;
}
static_assert(proto::scope_default < proto::scope_client &&
              proto::scope_client < proto::scope_point &&
              proto::scope_point < proto::scope_client_point);

plan_registry::plan_registry(capabilities host, uint32_t runtime_plans_max)
    : host_(std::move(host)), runtime_plans_max_(runtime_plans_max) {
  rebuild();
}

void plan_registry::configure(const std::vector<configured_plan>& plans, bool replace) {
  configured_.clear();
  for (const configured_plan& p : plans) configured_.insert_or_assign(p.scope, p.requested);
  if (replace) runtime_.clear();
  changed();
}

result<void> plan_registry::set(plan_scope scope, const bands& requested) {
  const bool is_new = !runtime_.contains(scope);
  if (is_new && runtime_.size() >= runtime_plans_max_) {
    return error(errc::LimitPoints, {std::to_string(runtime_plans_max_)});
  }
  runtime_.insert_or_assign(std::move(scope), requested);
  changed();
  return {};
}

result<void> plan_registry::unset(const plan_scope& scope) {
  if (runtime_.erase(scope) == 0) return error(errc::NotSet, {scope.text()});
  changed();
  return {};
}

void plan_registry::changed() {
  ++generation_;
  rebuild();
}

void plan_registry::rebuild() {
  effective_.clear();
  const auto put = [this](const plan_scope& scope, plan_source source, const bands& requested) {
    resolved_bands resolved = resolve_bands(requested, host_);
    effective_.insert_or_assign(
        scope, plan_in_force{scope, source, requested, resolved.running, resolved.warnings});
  };
  result<bands> shipped = bands::parse(plan_as_shipped);
  GAR_ASSERT(shipped.has_value());
  put({}, plan_source::built_in, *shipped);
  for (const auto& [scope, requested] : configured_) put(scope, plan_source::config, requested);
  for (const auto& [scope, requested] : runtime_) put(scope, plan_source::runtime, requested);
}

std::vector<plan_in_force> plan_registry::in_force() const {
  std::vector<plan_in_force> all;
  all.reserve(effective_.size());
  for (const auto& [scope, plan] : effective_) all.push_back(plan);
  return all;
}

std::shared_ptr<const published_plans> plan_registry::publish_for(const std::string& client) const {
  std::vector<published_plans::entry> applying;
  for (const auto& [scope, plan] : effective_) {
    if (scope.client && *scope.client != client) continue;
    const uint16_t number = static_cast<uint16_t>((scope.client ? proto::scope_client : 0) +
                                                  (scope.point ? proto::scope_point : 0));
    applying.push_back({number, scope.point.value_or(""), plan.running});
  }
  std::stable_sort(applying.begin(), applying.end(),
                   [](const auto& a, const auto& b) { return a.scope < b.scope; });
  return std::make_shared<const published_plans>(generation_, std::move(applying));
}
static_assert(proto::scope_client + proto::scope_point == proto::scope_client_point);

}  // namespace gar
