// Question: how soon after a store does a client that still looks at its ring hold the completion?
// Floor: a relay between spinning parties: it spins on the word and stores to a mailbox, on which
// the client spins.
// Not measured: asking for the wait. On two cores there is none for a producer that spins, so the
// client stores by itself, on both sides alike; then the figure is shown, and whether it would
// hold with a producer apart is not known.
#include "bench/private_gard.hpp"
#include "bench/raw_ring.hpp"
#include "bench/relay.hpp"

namespace gar::bench {
namespace {

class looking_wait : public wake_side {
 public:
  explicit looking_wait(raw_ring& of) : of_(of), target_(of.base_of(0)) {}
  store_order expect() override {
    of_.ask(0, 0, ++target_);
    of_.announce();
    return of_.store_of(0, target_);
  }
  void await() override {
    while (!of_.take()) {
    }
  }

 private:
  raw_ring& of_;
  uint64_t target_;
};

}  // namespace

case_result run_looking_wake(const options& o) {
  if (machine_cores().count < 2) throw cannot_measure("needs two cores, and three to tell");
  const private_gard gard({awake_config, machine_cores().gard});
  raw_ring client(gard.socket(), "gar-bench");
  need_ring(client);
  client.open(1);
  looking_wait ours(client);
  relay floor(mechanism::spinning);
  const bool apart = machine_cores().producer.has_value();
  std::optional<producer> by;
  if (apart) by.emplace();
  const wake_timing timing{30'000, 5'000};
  case_result r = wake_result(compare_wakes(ours, floor, by ? &*by : nullptr, o, timing),
                              "completion in the ring", "spinning relay");
  r.findings = {{"looking_over_floor", r.figures[0].value,
                 apart ? "" : "needs three cores for a producer apart; here the client stored"}};
  return r;
}

}  // namespace gar::bench
