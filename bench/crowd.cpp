#include "bench/crowd.hpp"

#include "bench/processes.hpp"
#include "lib/linux/process_usage.hpp"

namespace gar::bench {
namespace {

std::string crowd_config() {
  return std::string(awake_config) +
         "[limits]\nstreams_per_client = 8192\nstreams_per_user = 1048576\n"
         "clients_per_user = 4096\nwaits_per_user = 1048576\n";
}

}  // namespace

crowd::crowd(const std::vector<member>& members) : gard_({crowd_config(), machine_cores().gard}) {
  raise_descriptor_limit();
  clients_.reserve(members.size());
  for (const member& m : members) {
    clients_.emplace_back(gard_.socket(), "crowd-" + std::to_string(clients_.size()));
    raw_ring& client = clients_.back();
    client.open(m.streams);
    for (size_t i = 0; i < m.waits; ++i) {
      const size_t stream = i * (m.streams / m.waits);
      waits_.push_back(
          {clients_.size() - 1, stream, static_cast<uint32_t>(i), client.base_of(stream)});
    }
  }
}

void crowd::ask(one_wait& w) {
  ++w.target;
  raw_ring& client = clients_[w.client];
  if (client.has_ring()) {
    client.ask(w.slot, w.stream, w.target);
  } else {
    asked_.push_back(client.wait_for(w.stream, w.target, w.slot));
  }
}

void crowd::announce(size_t client) {
  if (clients_[client].has_ring()) return clients_[client].announce();
  clients_[client].send(asked_);
  asked_.clear();
}

// Until gard has taken what was asked; by socket its io thread may share a core with its reactor.
void crowd::settle(size_t asked) const {
  const uint64_t until = now_ns() + (by_ring() ? 10'000 : 150'000) + asked * 3'000;
  while (now_ns() < until) {
  }
}

void crowd::ask_for_all() {
  for (size_t i = 0; i < waits_.size(); ++i) {
    ask(waits_[i]);
    const bool last_of_client = i + 1 == waits_.size() || waits_[i + 1].client != waits_[i].client;
    if (last_of_client) announce(waits_[i].client);
  }
  settle(waits_.size());
}

void crowd::begin_round() {
  ask_for_all();
}

void crowd::end_round() {
  store_all();
  take_all();
}

uint64_t crowd::seen_ns(size_t wait) {
  one_wait& w = waits_[wait];
  const uint64_t from = now_ns();
  clients_[w.client].store(w.stream, w.target);
  while (take(w.client) == 0) {
  }
  const uint64_t until = now_ns();
  ask(w);
  announce(w.client);
  settle(1);
  return until - from;
}

uint64_t crowd::volley_ns() {
  const uint64_t from = now_ns();
  store_all();
  take_all();
  const uint64_t until = now_ns();
  ask_for_all();
  return (until - from) / waits_.size();
}

void crowd::store_all() const {
  for (const one_wait& w : waits_) clients_[w.client].store(w.stream, w.target);
}

// Once around all clients at a time, each emptied.
void crowd::take_all() {
  for (size_t left = waits_.size(); left > 0;) {
    for (size_t i = 0; i < clients_.size() && left > 0; ++i) {
      while (const size_t some = take(i)) left -= some;
    }
  }
}

// How many ended, looking once.
size_t crowd::take(size_t client) {
  raw_ring& of = clients_[client];
  if (!of.has_ring()) return of.receive(raw_client::patience::looks).size();
  return of.take() ? 1 : 0;
}

}  // namespace gar::bench
