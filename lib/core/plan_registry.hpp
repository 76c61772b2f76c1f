// Plan registry: which plan a wait runs, decided by who waits and where.
//
// A machine runs many programs; one plan does not suit all. A plan is set for a scope:
//
//     client + point   >   point   >   client   >   default        (the first one set is taken)
//
// and within one scope by what set it last and nearest:
//
//     runtime (`plan set`)   >   config (gard.toml)   >   built-in (default scope only)
//
// Each change raises one generation. Every band is resolved against the host's capabilities when it
// is set; what a client is told of, and what waits run, is the plan that runs.
//
// Invariants: the default scope always has a plan; the generation starts at 1 and only rises; a
// refused change leaves everything as it was.
// Threads: one (gard's io thread). Allocation: on a change.
// Errors: NotSet{scope}, LimitPoints{count}; texts were parsed before (InvalidPlan is the
// parser's). Does not: outlive a restart.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/capability.hpp"
#include "lib/core/plan.hpp"
#include "lib/core/resolve.hpp"

namespace gar {

// Whom a plan is for. Both empty: the default.
struct plan_scope {
  std::optional<std::string> client;
  std::optional<std::string> point;

  std::string text() const;  // "the default", "client a", "point b", "client a at point b"
  auto operator<=>(const plan_scope&) const = default;
};

enum class plan_source : uint8_t { built_in, config, runtime };

std::string_view name_of(plan_source source);

// A plan as the configuration names it. A scope named twice: the later one counts.
struct configured_plan {
  plan_scope scope;
  bands requested;
};

// One scope's plan in force, for `plan show`.
struct plan_in_force {
  plan_scope scope;
  plan_source source = plan_source::built_in;
  bands requested;
  bands running;
  std::vector<error> warnings;  // ParkFallback, one for each band that does not run as asked
};

// What one client was told: the scopes that apply to it, of one generation. Immutable; waits keep
// it alive while they need it.
class published_plans {
 public:
  struct entry {
    uint16_t scope;     // proto::scope_*
    std::string point;  // empty unless the scope names one
    bands running;
  };

  published_plans(uint64_t generation, std::vector<entry> entries)
      : generation_(generation), entries_(std::move(entries)) {}

  uint64_t generation() const { return generation_; }
  // By scope: the default's is the first.
  const std::vector<entry>& entries() const { return entries_; }
  // The plan list for a wait at `point` (empty: none), by precedence.
  const bands& select(std::string_view point) const;

 private:
  uint64_t generation_;
  std::vector<entry> entries_;
};

class plan_registry {
 public:
  plan_registry(capabilities host, uint32_t runtime_plans_max);

  uint64_t generation() const { return generation_; }

  // Puts the configuration's plans in place of the earlier ones; `replace` also forgets those set
  // at runtime. Raises the generation.
  void configure(const std::vector<configured_plan>& plans, bool replace);
  result<void> set(plan_scope scope, const bands& requested);
  // Takes back what was set at runtime.
  result<void> unset(const plan_scope& scope);
  void limit_runtime_plans(uint32_t most) { runtime_plans_max_ = most; }

  std::vector<plan_in_force> in_force() const;
  const plan_in_force& default_plan() const { return effective_.at(plan_scope{}); }
  std::shared_ptr<const published_plans> publish_for(const std::string& client) const;

 private:
  void changed();
  void rebuild();

  capabilities host_;
  uint32_t runtime_plans_max_;
  uint64_t generation_ = 1;
  std::map<plan_scope, bands> configured_;
  std::map<plan_scope, bands> runtime_;
  std::map<plan_scope, plan_in_force> effective_;
};

}  // namespace gar
