// Question: how soon after a store does an inline wait of the library return?
// Floor: the same thread does nothing but load the word until it changes; same producer, spinning
// on a core of its own. Not measured: sleeping (see cpu_of_one), a device's own query, a wait so
// long that the software word wait of a CPU without monitor instructions begins to sleep between
// its looks.
#include "bench/library_wait.hpp"
#include "bench/private_gard.hpp"
#include "proto/line.hpp"

namespace gar::bench {
namespace {

class bare_spin : public wake_side {
 public:
  explicit bare_spin(word_client& of) : of_(of) {}
  store_order expect() override { return expected_ = of_.record(); }
  void await() override {
    while (proto::load_word(*expected_.word) != expected_.value) {
    }
  }

 private:
  word_client& of_;
  store_order expected_;
};

}  // namespace

case_result run_inline(const options& o) {
  if (machine_cores().count < 2) throw cannot_measure("needs two cores");
  const private_gard gard({"", machine_cores().gard});
  word_client client(gard.socket(), "gar-bench", 1);
  library_wait ours(client, GAR_WAIT_INLINE);
  bare_spin floor(client);
  producer by({machine_cores().gard, true, 0});
  // Soon enough to be seen by a look, late enough to be waited for.
  const wake_timing soon{10'000, 1'000};
  case_result r =
      wake_result(compare_wakes(ours, floor, &by, o, soon), "gar_wait, inline", "bare spin");
  r.findings = {{"inline_over_spin", r.figures[0].value, {}}};
  return r;
}

}  // namespace gar::bench
