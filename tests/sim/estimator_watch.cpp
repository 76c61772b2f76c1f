#include "tests/sim/estimator_watch.hpp"

#include <fmt/format.h>

#include "lib/core/estimator.hpp"
#include "tests/sim/judge.hpp"

namespace gar::sim {
namespace {

judge* told = nullptr;

}  // namespace

void watch_estimators(judge* to) {
  told = to;
}

}  // namespace gar::sim

using gar::duration;
using gar::estimator;
using gar::sample;

// Linked in the place of the product's calls of these two (-Wl,--wrap).
void real_record(estimator* e, const sample& s,
                 uint8_t window) asm("__real__ZN3gar9estimator6recordERKNS_6sampleEh");
void watched_record(estimator* e, const sample& s,
                    uint8_t window) asm("__wrap__ZN3gar9estimator6recordERKNS_6sampleEh");
void watched_record(estimator* e, const sample& s, uint8_t window) {
  const std::optional<duration> before = e->predicted(window);
  real_record(e, s, window);
  if (!gar::sim::told || s.what == sample::kind::none) return;
  const std::optional<duration> after = e->predicted(window);
  if (s.what == sample::kind::late && (before ? *after > *before : *after > s.value)) {
    gar::sim::told->found("estimator", "a late wait raised the prediction");
  }
  if (*after > s.value && s.what == sample::kind::exact) {
    gar::sim::told->found("estimator", "the prediction is longer than the newest sample");
  }
}

duration real_sleep(const estimator* e, const gar::prediction& by) asm(
    "__real__ZNK3gar9estimator9sleep_forERKNS_10predictionE");
duration watched_sleep(const estimator* e, const gar::prediction& by) asm(
    "__wrap__ZNK3gar9estimator9sleep_forERKNS_10predictionE");
duration watched_sleep(const estimator* e, const gar::prediction& by) {
  const duration sleep = real_sleep(e, by);
  if (!gar::sim::told || !sleep) return sleep;
  const std::optional<duration> expected = e->predicted(by.window);
  if (!expected || sleep + by.margin > *expected || sleep < by.min_sleep || sleep > by.max_sleep) {
    gar::sim::told->found("estimator", "a sleep is not what its plan and history allow");
  }
  return sleep;
}
