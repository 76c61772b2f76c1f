// Question: is a store seen as soon with 65,536 streams open as with 64, where 64 are waited for?
// Floor: a gard that has the 64 open alone.
// Not measured: opening them; the memory that they take.
#include <vector>

#include "bench/private_gard.hpp"
#include "bench/raw_ring.hpp"
#include "lib/linux/process_usage.hpp"

namespace gar::bench {
namespace {

constexpr size_t armed_count = 64;
constexpr size_t streams_each = 8192;

// The streams beyond those waited for belong to clients that do nothing.
class crowd {
 public:
  crowd(const std::string& config, size_t open) : gard_({config, machine_cores().gard}) {
    for (size_t left = open; left > 0;) {
      clients_.emplace_back(gard_.socket(), "crowd-" + std::to_string(clients_.size()));
      const size_t here = std::min(left, streams_each);
      clients_.back().open(here);
      left -= here;
    }
    targets_.assign(armed_count, 0);
    raw_ring& first = clients_.front();
    stride_ = first.streams() / armed_count;
    for (size_t i = 0; i < armed_count; ++i) targets_[i] = first.base_of(i * stride_);
  }

  void begin_round() {
    for (size_t i = 0; i < armed_count; ++i) arm(i);
  }
  uint64_t seen_after_ns(size_t i) {
    raw_ring& first = clients_.front();
    const uint64_t from = now_ns();
    first.store(i * stride_, targets_[i]);
    while (take() == 0) {
    }
    const uint64_t until = now_ns();
    arm(i);
    return until - from;
  }
  void end_round() {
    raw_ring& first = clients_.front();
    for (size_t i = 0; i < armed_count; ++i) first.store(i * stride_, targets_[i]);
    for (size_t ended = 0; ended < armed_count;) ended += take();
  }

 private:
  void arm(size_t i) {
    ++targets_[i];
    raw_ring& first = clients_.front();
    const size_t stream = i * stride_;
    if (first.has_ring()) {
      first.ask(static_cast<uint32_t>(i), stream, targets_[i]);
      first.announce();
    } else {
      const proto::wait wait = first.wait_for(stream, targets_[i], i);
      first.send(std::span(&wait, 1));
    }
    // Until gard has taken it; its io thread may share a core with its reactor.
    const uint64_t until = now_ns() + (first.has_ring() ? 10'000 : 150'000);
    while (now_ns() < until) {
    }
  }
  // How many ended, looking once.
  size_t take() {
    raw_ring& first = clients_.front();
    if (!first.has_ring()) return first.receive(raw_client::patience::looks).size();
    return first.take() ? 1 : 0;
  }

  private_gard gard_;
  std::vector<raw_ring> clients_;
  std::vector<uint64_t> targets_;
  size_t stride_ = 1;
};

}  // namespace

case_result run_open_streams(const options& o) {
  raise_descriptor_limit();
  const std::string config = std::string(awake_config) +
                             "[limits]\nstreams_per_client = 8192\nstreams_per_user = 1048576\n";
  crowd many(config, o.quick ? 1024 : 65536);
  crowd few(config, armed_count);
  const on_core here(machine_cores().client);
  samples many_ns, few_ns;
  for (int round = 0; round < (o.quick ? 2 : 20); ++round) {
    for (auto [side, into] : {std::pair{&many, &many_ns}, std::pair{&few, &few_ns}}) {
      side->begin_round();
      into->begin_round();
      for (int i = 0; i < (o.quick ? 20 : 200); ++i) {
        into->add(side->seen_after_ns(static_cast<size_t>(i * 7) % armed_count));
      }
      side->end_round();
    }
  }
  case_result r;
  r.rows = {{"store to completion, 65,536 open", many_ns.all()},
            {"floor: the same, 64 open", few_ns.all()}};
  r.findings = {{"seen_ratio_65536", ratio(many_ns, few_ns, 0.5), {}}};
  if (o.quick) r.note = "--quick opens 1,024 streams, not 65,536";
  return r;
}

}  // namespace gar::bench
