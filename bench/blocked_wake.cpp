// Question: how soon after a store does a client that is blocked in gar_wait return?
// Floor: a process that spins on the word and wakes the client by one futex call; same cores, same
// producer, the client's core as idle.
// Not measured: registering the wait; a device's own query; a gard that sleeps between its looks.
#include "bench/library_wait.hpp"
#include "bench/private_gard.hpp"
#include "bench/relay.hpp"

namespace gar::bench {

case_result run_blocked_wake(const options& o) {
  const private_gard gard({awake_config, machine_cores().gard});
  word_client client(gard.socket(), "gar-bench", 1);
  library_wait ours(client);
  relay floor(mechanism::futex);
  producer by;
  case_result r =
      wake_result(compare_wakes(ours, floor, &by, o), "gar_wait, blocked", "futex relay");
  r.findings = {{"futex_over_floor", r.figures[0].value, {}},
                {"futex_p99_over_floor", r.figures[1].value, {}}};
  if (client.delegated() == 0) throw cannot_measure("no wait went through gard");
  return r;
}

}  // namespace gar::bench
