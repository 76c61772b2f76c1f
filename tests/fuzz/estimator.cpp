// The estimator: what it keeps, predicts and sleeps is what a plain list of samples says.
#include "lib/core/estimator.hpp"

#include <algorithm>
#include <deque>

#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

namespace gar::fuzz {
namespace {

class plain_list {
 public:
  std::optional<uint64_t> predicted(size_t window) const {
    if (kept_.empty()) return std::nullopt;
    const size_t looked_at = std::min(window, kept_.size());
    return *std::min_element(kept_.end() - static_cast<std::ptrdiff_t>(looked_at), kept_.end());
  }
  void exact(uint64_t ns) { kept_.push_back(ns); }
  void late(uint64_t woke, size_t window) {
    kept_.push_back(std::min(woke, predicted(window).value_or(woke)) / 2);
  }
  uint64_t sleep(const prediction& by) const {
    const auto guess = predicted(by.window);
    if (!guess || *guess <= by.margin.ns) return 0;
    const uint64_t ns = *guess - by.margin.ns;
    if (ns < by.min_sleep.ns) return 0;
    return std::min(ns, by.max_sleep.ns);
  }

 private:
  std::deque<uint64_t> kept_;
};

}  // namespace
}  // namespace gar::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace gar;
  fuzz::input from(data, bytes);
  prediction by;
  by.margin = {from.value()};
  by.min_sleep = {from.value()};
  by.max_sleep = {std::max(from.value(), by.min_sleep.ns)};
  estimator real;
  fuzz::plain_list plain;
  while (!from.empty()) {
    by.window = static_cast<uint8_t>(1 + from.choice(16));
    const bool late = from.flip();
    const uint64_t ns = from.value();
    real.record(late ? sample::late({ns}) : sample::exact({ns}), by.window);
    if (late) {
      plain.late(ns, by.window);
    } else {
      plain.exact(ns);
    }
    must(real.predicted(by.window) == duration{*plain.predicted(by.window)});
    const duration sleep = real.sleep_for(by);
    must(sleep.ns == plain.sleep(by));
    must(sleep <= by.max_sleep);
  }
  return 0;
}
