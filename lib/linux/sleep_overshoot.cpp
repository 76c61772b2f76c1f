#include "lib/linux/sleep_overshoot.hpp"

#include <algorithm>
#include <array>

#include "lib/linux/steady_clock.hpp"
#include "lib/linux/thread_timer.hpp"
#include "lib/linux/timer_slack.hpp"

namespace gar {

duration measure_sleep_overshoot() {
  constexpr duration asked = from_ms(1);
  const least_timer_slack exact;
  const steady_clock clock;
  const thread_timer timer;
  std::array<duration, 5> overshoots{};
  size_t taken = 0;
  const instant give_up = clock.now() + overshoot_budget - asked;
  while (taken < overshoots.size() && (taken == 0 || clock.now() < give_up)) {
    const instant until = clock.now() + asked;
    const result<void> slept = timer.sleep_until(until);
    GAR_ASSERT(slept.has_value());  // it can only fail for arguments that it never has
    overshoots[taken++] = clock.now() - until;
  }
  return judge_overshoots(std::span(overshoots).first(taken));
}

duration judge_overshoots(std::span<duration> seen) {
  if (seen.empty()) return {};
  const auto middle = seen.begin() + static_cast<std::ptrdiff_t>(seen.size() / 2);
  std::nth_element(seen.begin(), middle, seen.end());
  const duration least = *std::min_element(seen.begin(), seen.end());
  const duration believed{least.ns * overshoot_spread_most};
  return std::min({*middle, believed, overshoot_most});
}

}  // namespace gar
