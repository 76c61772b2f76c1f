// Wait statistics: how the node's waits went, by the way they ended and by the plan they ran under.
//
// Whoever chooses a plan wants to see two beside each other: how long waits took, how much of that
// was slept through, how often their owners were asked. A node has few plans at a time, but may
// have had many, so those that are kept apart are bounded and the rest go together.
//
// Invariants: at most plans_max plans are kept apart, in the order in which they were first seen;
// what ended under another is counted in `other_plans`. Each successful wait is counted once by its
// kind and once by its plan.
// A wait may name its plan by number from its start to its end.
// Threads: the node's. Allocation: at a plan's first wait. Units: in the names.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "lib/core/duration_histogram.hpp"
#include "lib/core/node_snapshot.hpp"
#include "lib/core/plan.hpp"
#include "lib/core/wait.hpp"

namespace gar {

struct plan_statistics {
  plan how;
  kind_counts kinds;
  duration_histogram waits;
  uint64_t slept_ns = 0;
  uint64_t parks = 0;
  uint64_t backstop_queries = 0;

  void add(const wait_report& ended) {
    kinds.add(ended.kind);
    waits.add(ended.wait);
    slept_ns += std::min(ended.slept.ns, ended.wait.ns);
    parks += ended.parks;
    backstop_queries += ended.backstop_queries;
  }
};

class wait_statistics {
 public:
  static constexpr size_t plans_max = 16;

  // A wait that succeeded, at gard or at its owner.
  void add(const plan& how, const wait_report& ended) { add(number_of(how), ended); }
  void add(size_t plan_number, const wait_report& ended) {
    by_kind_[static_cast<size_t>(ended.kind)].add(ended.wait);
    (plan_number < plans_.size() ? plans_[plan_number] : other_plans_).add(ended);
  }
  // Below plans_max where the plan is kept apart; else plans_max.
  size_t number_of(const plan& how) {
    if (last_ < plans_.size() && plans_[last_].how == how) return last_;
    for (last_ = 0; last_ < plans_.size(); ++last_) {
      if (plans_[last_].how == how) return last_;
    }
    if (plans_.size() == plans_max) return plans_max;
    plans_.push_back({how, {}, {}, 0, 0, 0});
    return last_;
  }

  const duration_histogram& of_kind(wait_kind kind) const {
    return by_kind_[static_cast<size_t>(kind)];
  }
  const std::vector<plan_statistics>& plans() const { return plans_; }
  // Its plan says nothing.
  const plan_statistics& other_plans() const { return other_plans_; }
  // All of it.
  duration_histogram waits() const {
    duration_histogram all;
    for (const duration_histogram& each : by_kind_) all.add(each);
    return all;
  }

 private:
  std::array<duration_histogram, 4> by_kind_;
  std::vector<plan_statistics> plans_;
  plan_statistics other_plans_;
  size_t last_ = 0;  // waits come in runs of one plan
};

}  // namespace gar
