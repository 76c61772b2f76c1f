// Plan cache: the plans that gard has published to this client, and which of them a wait runs.
//
// A wait must know its plan before it can decide where it runs, so gard publishes every scope that
// applies to the client, and again all of them on each change, under one rising generation.
//
//     collecting generation g: scope 0 .. scopes-1, in any order -> all there: g is in force
//
//     precedence: this client at this point > this point > this client > default
//
// Invariants: a generation comes into force whole or not at all, and only if it has a default; an
// older one never comes back. Until the first one does, the fallback given at the start is the
// default, with generation 0.
// Errors of publish: InvalidPlan; MalformedMessage for a count, an index or a scope that
// contradicts the rest. What is in force stays so. Threads: one at a time. Allocation: in publish.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/codec.hpp"
#include "lib/core/error.hpp"
#include "lib/core/plan.hpp"

namespace gar {

class plan_cache {
 public:
  static constexpr uint16_t scopes_max = proto::plan_scopes_max;

  explicit plan_cache(const bands& fallback) : in_force_{0, fallback, {}, {}, {}} {}

  // true: the generation of this scope is complete and in force now. A scope of a generation that
  // is not newer than the one in force changes nothing.
  result<bool> publish(const proto::plan_scope& scope);

  // Another daemon counts its generations from anew: forgets what is collected and lets the next
  // complete generation come into force, whatever its number.
  void start_over();

  struct choice {
    plan how;
    uint64_t generation = 0;
  };
  // `point` may be empty.
  choice select(std::string_view point, uint32_t rows) const;
  uint64_t generation() const { return in_force_.generation; }

 private:
  using by_point = std::map<std::string, bands, std::less<>>;
  struct table {
    uint64_t generation;
    bands otherwise;
    std::optional<bands> of_client;
    by_point of_point;
    by_point of_client_point;
  };
  struct collection {
    uint64_t generation;
    uint16_t missing;
    std::vector<bool> seen;
    std::optional<bands> otherwise;
    table rest;  // its `otherwise` is not used
  };

  result<void> collect(const proto::plan_scope& scope, const bands& parsed);

  table in_force_;
  bool any_generation_ = true;
  std::optional<collection> collecting_;
};

}  // namespace gar
