#include "lib/core/plan_cache.hpp"

#include <utility>

namespace gar {
namespace {

error malformed(const char* what) {
  return error(errc::MalformedMessage, {what});
}

}  // namespace

result<bool> plan_cache::publish(const proto::plan_scope& scope) {
  if (!any_generation_ && scope.generation <= in_force_.generation) return false;
  if (collecting_ && scope.generation < collecting_->generation) return false;
  if (scope.scopes == 0 || scope.scopes > proto::plan_scopes_max ||
      scope.scope_index >= scope.scopes) {
    return malformed("plan: scope index and count contradict each other");
  }
  result<bands> parsed = bands::parse(scope.text);
  if (!parsed) return parsed.error();

  if (!collecting_ || collecting_->generation != scope.generation) {
    collecting_.emplace(collection{scope.generation,
                                   scope.scopes,
                                   std::vector<bool>(scope.scopes),
                                   {},
                                   {scope.generation, in_force_.otherwise, {}, {}, {}}});
  }
  result<void> taken = collect(scope, *parsed);
  if (!taken) return taken.error();
  if (collecting_->missing > 0) return false;
  if (!collecting_->otherwise) {
    collecting_.reset();
    return malformed("plan: a generation without a default");
  }
  in_force_ = std::move(collecting_->rest);
  in_force_.otherwise = *collecting_->otherwise;
  any_generation_ = false;
  collecting_.reset();
  return true;
}

result<void> plan_cache::collect(const proto::plan_scope& scope, const bands& parsed) {
  collection& into = *collecting_;
  if (scope.scopes != into.seen.size()) return malformed("plan: the count of scopes changed");
  if (into.seen[scope.scope_index]) return malformed("plan: a scope came twice");
  into.seen[scope.scope_index] = true;
  --into.missing;
  switch (scope.scope) {
    case proto::scope_default:
      into.otherwise = parsed;
      break;
    case proto::scope_client:
      into.rest.of_client = parsed;
      break;
    case proto::scope_point:
      into.rest.of_point.insert_or_assign(scope.point_name, parsed);
      break;
    case proto::scope_client_point:
      into.rest.of_client_point.insert_or_assign(scope.point_name, parsed);
      break;
    default:
      return malformed("plan: unknown scope");
  }
  return {};
}

void plan_cache::start_over() {
  any_generation_ = true;
  collecting_.reset();
}

plan_cache::choice plan_cache::select(std::string_view point, uint32_t rows) const {
  const table& t = in_force_;
  const bands* chosen = t.of_client ? &*t.of_client : &t.otherwise;
  if (!point.empty()) {
    if (auto own = t.of_client_point.find(point); own != t.of_client_point.end()) {
      chosen = &own->second;
    } else if (auto any = t.of_point.find(point); any != t.of_point.end()) {
      chosen = &any->second;
    }
  }
  return {chosen->select(rows), t.generation};
}

}  // namespace gar
