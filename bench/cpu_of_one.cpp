// Question: what CPU time does a wait of 10 ms cost, the client's and gard's together, under the
// plan as shipped and a gard as shipped; and what delay does an inline one add to a spin's?
// Floor: the client spins on the word for the same 10 ms, which costs 10 ms.
// Not measured: the producer; work that never lasts as long as the last time.
#include "bench/timed_work.hpp"

namespace gar::bench {

case_result run_cpu_of_one(const options& o) {
  const private_gard gard({"", machine_cores().gard});
  word_client client(gard.socket(), "gar-bench", 3);
  producer beside_client(timed_producer_on(machine_cores().gard));
  producer beside_gard(timed_producer_on(machine_cores().client));
  way gards = library_way(client, 0, beside_gard);
  way inlines = library_way(client, 1, beside_client, GAR_WAIT_INLINE);
  way spins = spinning_way(client, 2, beside_client);
  const on_core here(machine_cores().client);
  timed_work run(gard);
  const size_t rounds = o.quick ? 2 : 20;
  const size_t waits = o.quick ? 3 : 15;
  for (way* each : {&gards, &inlines}) run.run_round(*each, o.quick ? 4 : 20, false);
  for (size_t i = 0; i < rounds; ++i) {
    for (way* each : {&gards, &inlines, &spins}) run.run_round(*each, waits, true);
  }
  case_result r;
  r.rows = {{"CPU of a wait through gard", gards.cpu_ns.all()},
            {"CPU of an inline wait", inlines.cpu_ns.all()},
            {"floor: CPU of a spin", spins.cpu_ns.all()},
            {"delay of a wait through gard", gards.delay_ns.all()},
            {"delay of an inline wait", inlines.delay_ns.all()},
            {"floor: delay of a spin", spins.delay_ns.all()}};
  const double beyond_ns = difference_ns(inlines.delay_ns, spins.delay_ns);
  r.figures = {{"CPU inline, over a spin", ratio(inlines.cpu_ns, spins.cpu_ns, 0.5), ""},
               {"waits through gard that slept too long", gards.late_in_100(), "in 100"},
               {"inline waits that slept too long", inlines.late_in_100(), "in 100"}};
  r.findings = {{"cpu_ratio_10ms_1", ratio(gards.cpu_ns, spins.cpu_ns, 0.5), {}},
                {"wake_10ms_over_spin_us", beyond_ns / 1000, {}}};
  return r;
}

}  // namespace gar::bench
