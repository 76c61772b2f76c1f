// Question: what CPU time does a wait of 10 ms cost, the client's and gard's together, under the
// plan as shipped and a gard as shipped; and what delay does an inline one add to a spin's?
// Floor: the client spins on the word for the same 10 ms, which costs 10 ms.
// Not measured: the producer; work that never lasts as long as the last time.
#include <functional>
#include <random>

#include "bench/library_wait.hpp"
#include "bench/private_gard.hpp"
#include "proto/line.hpp"

namespace gar::bench {
namespace {

constexpr uint64_t work_ns = 10'000'000;
constexpr uint64_t jitter_ns = 20'000;  // each way
// Before a store the producer spins, so that the jitter is ours and not a timer's.
constexpr uint64_t lead_ns = 300'000;

producer_place place_on(unsigned core) {
  const cores& c = machine_cores();
  return {c.producer.value_or(core), false, lead_ns};
}

struct way {
  producer* by;
  std::function<void(const store_order&)> wait;
  samples cpu_ns;    // of each round: for one wait
  samples delay_ns;  // of each wait
};

class cpu_run {
 public:
  cpu_run(word_client& client, const private_gard& gard) : client_(client), gard_(gard) {}

  void run_round(way& w, size_t waits, bool kept) {
    if (kept) {
      w.cpu_ns.begin_round();
      w.delay_ns.begin_round();
    }
    uint64_t cpu = 0;
    for (size_t i = 0; i < waits; ++i) {
      store_order o = client_.record();
      o.at_ns = now_ns() + work_ns - jitter_ns + random_() % (2 * jitter_ns);
      w.by->order(o);
      const uint64_t before = own_cpu_ns();
      const uint64_t gard_before = gard_.cpu_ns();
      w.wait(o);
      const uint64_t ended = now_ns();
      cpu += own_cpu_ns() - before + gard_.cpu_ns() - gard_before;
      if (kept) w.delay_ns.add(ended - w.by->stored_ns());
    }
    if (kept) w.cpu_ns.add(cpu / waits);
  }

 private:
  word_client& client_;
  const private_gard& gard_;
  std::minstd_rand random_{1};
};

void wait_by_library(word_client& client, const store_order& o, uint32_t flags) {
  gar_wait_options options{};
  options.struct_bytes = sizeof(options);
  options.flags = flags;
  must_be_ok(gar_wait(client.stream(), o.value, &options, nullptr), "gar_wait");
}

}  // namespace

case_result run_cpu_of_one(const options& o) {
  const private_gard gard({"", machine_cores().gard});
  word_client client(gard.socket(), "gar-bench", 1);
  // Always on the core that idles: beside a client that looks it is gard's, beside gard the
  // client's.
  producer beside_client(place_on(machine_cores().gard));
  producer beside_gard(place_on(machine_cores().client));
  way gards{&beside_gard, [&](const store_order& s) { wait_by_library(client, s, 0); }, {}, {}};
  way inlines{&beside_client,
              [&](const store_order& s) { wait_by_library(client, s, GAR_WAIT_INLINE); },
              {},
              {}};
  way spins{&beside_client,
            [](const store_order& s) {
              while (proto::load_word(*s.word) != s.value) {
              }
            },
            {},
            {}};
  const on_core here(machine_cores().client);
  cpu_run run(client, gard);
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
  r.figures = {{"CPU inline, over a spin", ratio(inlines.cpu_ns, spins.cpu_ns, 0.5), ""}};
  r.findings = {{"cpu_ratio_10ms_1", ratio(gards.cpu_ns, spins.cpu_ns, 0.5), {}},
                {"wake_10ms_over_spin_us", beyond_ns / 1000, {}}};
  return r;
}

}  // namespace gar::bench
