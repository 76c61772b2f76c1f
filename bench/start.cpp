// Question: how long from exec until gard says READY=1, with its sockets listening?
// Floor: none.
// Not measured: systemd; a cold page cache.
#include "bench/private_gard.hpp"

namespace gar::bench {

case_result run_start(const options& o) {
  samples ready;
  for (int i = 0; i < (o.quick ? 2 : 21); ++i) {
    const private_gard gard({"", std::nullopt});
    ready.begin_round();
    ready.add(gard.ready_ns());
  }
  case_result r;
  r.rows = {{"exec to READY=1", ready.all()}};
  r.findings = {{"ready_ms", static_cast<double>(r.rows[0].times.p50_ns) / 1e6, {}}};
  return r;
}

}  // namespace gar::bench
