#include "clients/garctl/findings.hpp"

#include <boost/json/array.hpp>

#include "clients/garctl/answer_fields.hpp"
#include "clients/garctl/plan_check.hpp"

namespace gar {

std::span<const finding_rule> finding_rules() {
  static const std::vector<finding_rule> all = [] {
    std::vector<finding_rule> rules = rules_of_gard();
    for (const auto& more : {rules_of_waiting(), rules_of_host()}) {
      rules.insert(rules.end(), more.begin(), more.end());
    }
    return rules;
  }();
  return all;
}

std::vector<finding> judge(const node_seen& seen) {
  std::vector<finding> findings;
  for (const finding_rule& rule : finding_rules()) {
    findings.push_back(rule.judge(seen));
    findings.back().id = rule.id;
  }
  return findings;
}

finding without_gard() {
  return {.what = "no gard answers"};
}

std::optional<bands> plan_of(const node_seen& seen) {
  if (!seen.gard.answered()) return check_plan(plan_as_shipped).parsed;
  const auto running = optional_text_field(seen.gard.status, "plan.running");
  return running ? check_plan(*running).parsed : std::nullopt;
}

std::optional<capability_state> capability_of(const node_seen& seen, capability which) {
  if (!seen.gard.answered()) return seen.own[which];
  for (const boost::json::value& each : list_field(seen.gard.status, "capabilities")) {
    if (text_field(each, "name") != name_of(which)) continue;
    return capability_state{flag_field(each, "available"), text_field(each, "why")};
  }
  return std::nullopt;
}

}  // namespace gar
