#include "lib/core/estimator.hpp"

#include <algorithm>

#include "lib/core/planted.hpp"

namespace gar {

std::optional<duration> estimator::predicted(uint8_t window) const {
  const size_t looked_at = std::min<size_t>(window, count_);
  if (looked_at == 0) return std::nullopt;
  duration least = duration::max();
  for (size_t back = 1; back <= looked_at; ++back) {
    least = std::min(least, ring_[(next_ + samples_max - back) % samples_max]);
  }
  return least;
}

duration estimator::sleep_for(const prediction& by) const {
  const std::optional<duration> expected = predicted(by.window);
  if (!expected) return {};
  const duration sleep = *expected - by.margin;  // 0 where the prediction is not above the margin
  return sleep < by.min_sleep ? duration{} : std::min(sleep, by.max_sleep);
}

void estimator::record(const sample& s, uint8_t window) {
  if (s.what == sample::kind::none) return;
  duration kept = s.value;
  if (s.what == sample::kind::late) {
    kept = std::min(s.value, predicted(window).value_or(duration::max())) / 2;
    if (planted(bug::late_outcome_raises_prediction)) kept = s.value;
  }
  ring_[next_] = kept;
  next_ = static_cast<uint8_t>((next_ + 1) % samples_max);
  count_ = static_cast<uint8_t>(std::min<size_t>(count_ + 1u, samples_max));
}

}  // namespace gar
