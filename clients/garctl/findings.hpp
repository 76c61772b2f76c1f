// Findings: what is good about a node, what costs latency or CPU there, and what would change it.
//
// Model: one rule for each finding, judging what was seen (node_seen.hpp):
//
//     good     nothing to do
//     costs    works, and costs latency or CPU; by how much is in `measured`, where it was measured
//     broken   does not work, or is not what was asked for
//     unknown  could not be read or tried here
//
// Invariants: an id never changes its meaning; each rule answers always, with one of its verdicts.
// `measured` and `figures` hold nothing but what was measured on this node. A remedy is a command
// for a shell, to be pasted as it stands; where no command changes it there is none.
// Threads: pure. Allocation: texts. Errors: none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clients/garctl/node_seen.hpp"
#include "lib/core/plan.hpp"

namespace gar {

enum class verdict : uint8_t { good, costs, broken, unknown };
inline constexpr size_t verdict_count = 4;

constexpr std::string_view name_of(verdict v) {
  constexpr std::string_view names[] = {"good", "costs", "broken", "unknown"};
  return names[static_cast<size_t>(v)];
}

// A number that was measured; its unit is in its name.
struct figure {
  std::string_view name;
  uint64_t value = 0;
};

struct finding {
  verdict is = verdict::unknown;
  std::string what{};
  std::string measured{};
  std::vector<figure> figures{};
  std::string remedy{};
  std::string_view id{};  // the rule's
};

struct finding_rule {
  std::string_view id;
  finding (*judge)(const node_seen&);
  std::vector<verdict> verdicts;  // the ones that it can answer
};

// In the order in which they are shown.
std::span<const finding_rule> finding_rules();

std::vector<finding> judge(const node_seen& seen);

// Fewer waits than this say nothing of a share or a mean.
inline constexpr uint64_t judged_waits_least = 100;

// What a rule about gard answers where there is none.
finding without_gard();

// What rules of several subjects ask: the plan that runs, else the one as shipped; and what gard
// says of a capability, else what garctl found. Nothing where gard answered and did not say.
std::optional<bands> plan_of(const node_seen& seen);
std::optional<capability_state> capability_of(const node_seen& seen, capability which);

// The rules by subject, each in a file of its own: finding_gard.cpp, finding_waiting.cpp,
// finding_host.cpp.
std::vector<finding_rule> rules_of_gard();
std::vector<finding_rule> rules_of_waiting();
std::vector<finding_rule> rules_of_host();

}  // namespace gar
