// Question: what would it cost to wait the way vendors offer, by a host callback?
// Floor: our own blocked client. The callback is an imitation: an interrupt's stand-in (the relay)
// wakes a thread of the client by an eventfd, as a driver's own thread is woken; that thread calls
// back, which writes another eventfd, on which the client blocks in epoll.
// Both wake a client whose core has halted, which takes far longer than what they differ by; so
// they are measured once more on a core that is kept from halting. Not measured: a real driver's
// interrupt, its locks, and its queue of callbacks.
#include "bench/library_wait.hpp"
#include "bench/private_gard.hpp"
#include "bench/relay.hpp"

namespace gar::bench {

case_result run_callback(const options& o) {
  const private_gard gard({awake_config, machine_cores().gard});
  word_client client(gard.socket(), "gar-bench", 1);
  library_wait ours(client);
  relay callback(mechanism::callback);
  producer by;
  case_result r = wake_result(compare_wakes(callback, ours, &by, o), "imitated host callback",
                              "gar_wait, blocked");
  const child busy([] { keep_awake(machine_cores().client); });
  const case_result awake =
      wake_result(compare_wakes(callback, ours, &by, o), "the same, its core kept from halting",
                  "gar_wait, its core kept from halting");
  r.rows.insert(r.rows.end(), awake.rows.begin(), awake.rows.end());
  r.figures.push_back({"p50 over the floor, core kept from halting", awake.figures[0].value, ""});
  r.findings = {{"callback_over_futex", r.figures[0].value, {}}};
  return r;
}

}  // namespace gar::bench
