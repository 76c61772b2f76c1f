// Question: what does gard do while nothing is waited for?
// Floor: nothing at all; a liveness timer or two are allowed.
// Not measured: the clients' own threads; waits that are pending.
#include <time.h>

#include <vector>

#include "bench/private_gard.hpp"
#include "bench/raw_ring.hpp"
#include "lib/linux/process_usage.hpp"
#include "lib/linux/thread_timer.hpp"

namespace gar::bench {

case_result run_idle(const options& o) {
  const size_t count = o.quick ? 50 : 1000;
  const uint64_t seconds = o.quick ? 1 : 10;
  raise_descriptor_limit();
  const private_gard gard({"", std::nullopt});
  std::vector<raw_ring> clients;
  for (size_t i = 0; i < count; ++i) {
    clients.emplace_back(gard.socket(), "idle-" + std::to_string(i));
  }
  // What connecting began has ended by then.
  must(thread_timer().sleep_until(instant{now_ns()} + from_ms(300)), "sleep");
  const uint64_t switches = gard.context_switches();
  const uint64_t cpu = gard.cpu_ns();
  must(thread_timer().sleep_until(instant{now_ns()} + from_ms(seconds * 1000)), "sleep");
  const double per_10s =
      static_cast<double>(gard.context_switches() - switches) * 10 / static_cast<double>(seconds);
  case_result r;
  r.figures = {
      {"clients", static_cast<double>(count), ""},
      {"context switches in 10 s", per_10s, ""},
      {"CPU time in 10 s",
       static_cast<double>(gard.cpu_ns() - cpu) / 1e3 * 10 / static_cast<double>(seconds), "us"}};
  r.findings = {{"idle_wakeups_10s", per_10s, {}}};
  return r;
}

}  // namespace gar::bench
