// Question: how soon after a store does a client that blocks on its own socket hold the completion?
// Floor: a process that spins on the word and sends a message of the same size into a SEQPACKET
// socket, on whose other end the client blocks.
// Not measured: sending the wait; what a client does with the completion.
#include "bench/private_gard.hpp"
#include "bench/raw_client.hpp"
#include "bench/relay.hpp"

namespace gar::bench {
namespace {

class socket_wait : public wake_side {
 public:
  explicit socket_wait(raw_client& of) : of_(of), target_(of.base_of(0)) {}
  store_order expect() override {
    ++target_;
    const proto::wait wait = of_.wait_for(0, target_, target_);
    of_.send(std::span(&wait, 1));
    return of_.store_of(0, target_);
  }
  void await() override { of_.receive(raw_client::patience::blocks); }

 private:
  raw_client& of_;
  uint64_t target_;
};

}  // namespace

case_result run_socket_wake(const options& o) {
  const private_gard gard({awake_config, machine_cores().gard});
  raw_client client(gard.socket(), "gar-bench");
  client.open(1);
  socket_wait ours(client);
  relay floor(mechanism::seqpacket);
  producer by;
  case_result r =
      wake_result(compare_wakes(ours, floor, &by, o), "completion by socket", "SEQPACKET relay");
  r.findings = {{"socket_over_floor", r.figures[0].value, {}}};
  return r;
}

}  // namespace gar::bench
