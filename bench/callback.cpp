// Question: what would it cost to wait the way vendors offer, by a host callback?
// Floor: our own blocked client. The callback is an imitation: an interrupt's stand-in (the relay)
// wakes a thread of the client by an eventfd, as a driver's own thread is woken; that thread calls
// back, which writes another eventfd, on which the client blocks in epoll.
// Not measured: a real driver's interrupt, its locks, and its queue of callbacks.
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
  r.findings = {{"callback_over_futex", r.figures[0].value, {}}};
  return r;
}

}  // namespace gar::bench
