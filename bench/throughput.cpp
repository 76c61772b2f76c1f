// Question: how many completions a second pass through one reactor, 64 streams with many waits in
// flight each, one store per completion by another process, to a client that never blocks?
// Floor: none; gard's CPU time for a completion stands beside it.
// Not measured: many clients; wakes, since nobody sleeps.
#include <sched.h>

#include <vector>

#include "bench/private_gard.hpp"
#include "bench/raw_ring.hpp"

namespace gar::bench {
namespace {

constexpr size_t streams_count = 64;
constexpr uint64_t waits_deep = 16;

// What the client has asked for and the producer may store.
struct demand {
  std::array<uint64_t, streams_count> asked{};
  uint64_t stop = 0;
};

// Stores each number by itself, stream after stream, never beyond what is waited for.
void produce(demand& from, std::vector<store_order> next) {
  settle_child(machine_cores().producer.value_or(machine_cores().client), false);
  while (proto::load_word(from.stop) == 0) {
    bool stored = false;
    for (size_t i = 0; i < next.size(); ++i) {
      store_order& o = next[i];
      if (o.value == proto::load_word(from.asked[i])) continue;
      ++o.value;
      proto::store_word(*o.word, o.value);
      proto::store_word(*o.bell, o.bell_value + o.value % 0xffff);
      stored = true;
    }
    // On two cores the client waits for this one.
    if (!stored) ::sched_yield();
  }
}

struct rate {
  double per_s = 0;
  double gard_ns = 0;  // CPU time for a completion
};

// The same flood by either way; a wait keeps its slot, and with it its stream, for ever.
struct by_socket {
  raw_client client;
  std::vector<proto::wait> asked;

  explicit by_socket(const std::string& socket) : client(socket, "gar-bench") {}
  void ask(uint32_t slot, size_t stream, uint64_t target) {
    asked.push_back(client.wait_for(stream, target, slot));
  }
  void announce() {
    client.send(asked);
    asked.clear();
  }
  // Calls ended(slot) for each.
  template <class Ended>
  size_t take(Ended&& ended) {
    const std::span<const uint64_t> cookies = client.receive(raw_client::patience::looks);
    for (const uint64_t cookie : cookies) ended(static_cast<uint32_t>(cookie));
    return cookies.size();
  }
};

struct by_ring {
  raw_ring client;

  explicit by_ring(const std::string& socket) : client(socket, "gar-bench") { need_ring(client); }
  void ask(uint32_t slot, size_t stream, uint64_t target) { client.ask(slot, stream, target); }
  void announce() { client.announce(); }
  template <class Ended>
  size_t take(Ended&& ended) {
    size_t count = 0;
    while (const std::optional<uint32_t> slot = client.take()) {
      ended(*slot);
      ++count;
    }
    return count;
  }
};

template <class Way>
class flood {
 public:
  explicit flood(const private_gard& gard) : gard_(gard), way_(gard.socket()) {
    way_.client.open(streams_count);
    std::vector<store_order> next;
    for (size_t i = 0; i < streams_count; ++i) {
      targets_.push_back(way_.client.base_of(i));
      demand_->asked[i] = targets_[i];
      next.push_back(way_.client.store_of(i, targets_[i]));
    }
    demand& of = *demand_;
    producer_ = child([&of, next] { produce(of, next); });
    for (uint32_t slot = 0; slot < streams_count * waits_deep; ++slot) ask(slot);
    announce();
  }
  ~flood() { proto::store_word(demand_->stop, 1); }

  rate run(uint64_t for_ns) {
    const uint64_t from = now_ns();
    const uint64_t cpu = gard_.cpu_ns();
    uint64_t ended = 0;
    uint64_t until = from;
    while ((until = now_ns()) < from + for_ns) {
      const size_t some = way_.take([&](uint32_t slot) { ask(slot); });
      ended += some;
      if (some) {
        announce();
      } else {
        ::sched_yield();
      }
    }
    const auto count = static_cast<double>(std::max<uint64_t>(ended, 1));
    return {count * 1e9 / static_cast<double>(until - from),
            static_cast<double>(gard_.cpu_ns() - cpu) / count};
  }

 private:
  void ask(uint32_t slot) {
    const size_t stream = slot % streams_count;
    way_.ask(slot, stream, ++targets_[stream]);
  }
  // What gard can see is what may be stored.
  void announce() {
    way_.announce();
    for (size_t i = 0; i < streams_count; ++i) {
      proto::store_word(demand_->asked[i], targets_[i]);
    }
  }

  const private_gard& gard_;
  Way way_;
  shared<demand> demand_;
  std::vector<uint64_t> targets_;
  child producer_;
};

struct flood_result {
  std::vector<double> per_s;
  std::vector<double> gard_ns;
};

template <class Way>
flood_result measure(const private_gard& gard, const options& o) {
  const uint64_t round_ns = o.quick ? 50'000'000 : 500'000'000;
  flood_result all;
  flood<Way> f(gard);
  f.run(round_ns / 4);
  for (int i = 0; i < (o.quick ? 2 : 10); ++i) {
    const rate r = f.run(round_ns);
    all.per_s.push_back(r.per_s);
    all.gard_ns.push_back(r.gard_ns);
  }
  return all;
}

// A rate that is reached although producer and client share a core is reached; one that is not may
// be for want of a core.
finding finding_of(const std::string& target, double per_s, double limit) {
  const bool cores_lack = !machine_cores().producer && per_s < limit;
  return {target, per_s,
          cores_lack ? "needs three cores: gard, client and producer never sleep, and here two of "
                       "them share one"
                     : ""};
}

void add(case_result& r, const std::string& way, const flood_result& f) {
  r.figures.push_back({way, median(f.per_s), "completions/s"});
  r.figures.push_back({way + ", gard's CPU", median(f.gard_ns), "ns for one"});
}

}  // namespace

case_result run_throughput(const options& o) {
  const private_gard gard({awake_config, machine_cores().gard});
  const on_core here(machine_cores().client);
  case_result r;
  const flood_result socket = measure<by_socket>(gard, o);
  add(r, "by socket", socket);
  r.findings = {finding_of("completions_per_s_socket", median(socket.per_s), 200'000)};
  try {
    const flood_result ring = measure<by_ring>(gard, o);
    add(r, "by shared memory", ring);
    r.findings.push_back(finding_of("completions_per_s_shm", median(ring.per_s), 1'000'000));
  } catch (const cannot_measure& e) {
    r.findings.push_back({"completions_per_s_shm", std::nullopt, e.what()});
  }
  return r;
}

}  // namespace gar::bench
