// Question: what does it cost to ask gard something, and have its answer: by a message, and by
// shared memory with the client looking?
// Floor: each is the other's.
// Not measured: a gard that sleeps; the wait itself, which is for what has come already.
#include "bench/private_gard.hpp"
#include "bench/raw_ring.hpp"

namespace gar::bench {
namespace {

// A wait that is pending meanwhile, so that the reactor looks and does not sleep. By software it
// looks without a pause only for a while after a wait has come: hence a new one for each round.
class pending_wait {
 public:
  explicit pending_wait(const private_gard& gard) : client_(gard.socket(), "pending") {
    client_.open(1);
    target_ = client_.base_of(0);
  }
  void begin_round() {
    if (target_ != client_.base_of(0)) {
      client_.store(0, target_);
      client_.receive(raw_client::patience::blocks);
    }
    const proto::wait wait = client_.wait_for(0, ++target_, 1);
    client_.send(std::span(&wait, 1));
  }

 private:
  raw_client client_;
  uint64_t target_ = 0;
};

uint64_t ask_by_socket(raw_client& client, uint64_t cookie) {
  const proto::wait wait = client.wait_for(0, client.base_of(0) + 1, cookie);
  const uint64_t from = now_ns();
  client.send(std::span(&wait, 1));
  client.receive(raw_client::patience::blocks);
  return now_ns() - from;
}

uint64_t ask_by_ring(raw_ring& client) {
  const uint64_t from = now_ns();
  client.ask(0, 0, client.base_of(0) + 1);
  client.announce();
  while (!client.take()) {
  }
  return now_ns() - from;
}

}  // namespace

case_result run_request(const options& o) {
  const private_gard gard({awake_config, machine_cores().gard});
  const on_core here(machine_cores().client);
  pending_wait keeps_it_awake(gard);
  raw_client by_socket(gard.socket(), "by-socket");
  raw_ring by_ring(gard.socket(), "by-ring");
  for (raw_client* each : {&by_socket, static_cast<raw_client*>(&by_ring)}) {
    each->open(1);
    each->store(0, each->base_of(0) + 1);
  }
  samples socket_ns, ring_ns;
  uint64_t cookie = 0;
  const int asks = o.quick ? 20 : 100;
  for (int round = 0; round < (o.quick ? 2 : 50); ++round) {
    keeps_it_awake.begin_round();
    socket_ns.begin_round();
    for (int i = 0; i < asks; ++i) socket_ns.add(ask_by_socket(by_socket, ++cookie));
    if (!by_ring.has_ring()) continue;
    keeps_it_awake.begin_round();
    ring_ns.begin_round();
    for (int i = 0; i < asks; ++i) ring_ns.add(ask_by_ring(by_ring));
  }
  case_result r;
  r.rows = {{"request to answer by socket", socket_ns.all()},
            {"request to answer by shared memory", ring_ns.all()}};
  if (by_ring.has_ring()) {
    r.findings = {{"ring_over_socket", ratio(socket_ns, ring_ns, 0.5), {}}};
  } else {
    r.findings = {{"ring_over_socket", std::nullopt, "this gard gives no ring"}};
  }
  return r;
}

}  // namespace gar::bench
