// Question: is a store seen as soon with 65,536 streams open as with 64, where 64 are waited for?
// Floor: a gard that has the 64 open alone.
// Not measured: opening them; the memory that they take.
#include <vector>

#include "bench/crowd.hpp"
#include "bench/processes.hpp"

namespace gar::bench {
namespace {

constexpr size_t waits_count = 64;

// The streams beyond those waited for belong to clients that do nothing.
std::vector<crowd::member> members_with(size_t open) {
  std::vector<crowd::member> members;
  for (size_t left = open; left > 0; left -= members.back().streams) {
    members.push_back({std::min(left, crowd::streams_each_max), 0});
  }
  members.front().waits = waits_count;
  return members;
}

}  // namespace

case_result run_open_streams(const options& o) {
  crowd many(members_with(o.quick ? 1024 : 65536));
  crowd few(members_with(waits_count));
  const on_core here(machine_cores().client);
  samples many_ns, few_ns;
  for (int round = 0; round < (o.quick ? 2 : 20); ++round) {
    for (auto [side, into] : {std::pair{&many, &many_ns}, std::pair{&few, &few_ns}}) {
      side->begin_round();
      into->begin_round();
      for (size_t i = 0; i < (o.quick ? 20 : 200); ++i) {
        into->add(side->seen_ns(i * 7 % waits_count));
      }
      side->end_round();
    }
  }
  case_result r;
  r.rows = {{"store to completion, 65,536 open", many_ns.all()},
            {"floor: the same, 64 open", few_ns.all()}};
  r.findings = {{"seen_ratio_65536", ratio(many_ns, few_ns, 0.5), {}}};
  if (o.quick) r.note = "--quick opens 1,024 streams, not 65,536";
  return r;
}

}  // namespace gar::bench
