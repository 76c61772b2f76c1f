// Question: how far does a timed sleep overshoot here, with 1 ns of timer slack?
// Floor: none; the overshoot is a floor under any margin.
// Not measured: what other mechanisms (timerfd, io_uring) do.
#include "bench/measure.hpp"
#include "lib/linux/steady_clock.hpp"
#include "lib/linux/thread_timer.hpp"
#include "lib/linux/timer_slack.hpp"

namespace gar::bench {
namespace {

uint64_t overshoot_ns(duration by) {
  steady_clock clock;
  thread_timer timer;
  const instant at = clock.now() + by;
  if (!timer.sleep_until(at)) return 0;
  return (clock.now() - at).ns;
}

}  // namespace

case_result run_sleep(const options& o) {
  const size_t rounds = o.quick ? 20 : 300;
  std::vector<uint64_t> short_ns, long_ns;
  case_result r;
  if (result<void> slack = set_timer_slack_ns(1); !slack) r.note = slack.error().text();
  for (size_t i = 0; i < rounds; ++i) {
    short_ns.push_back(overshoot_ns(from_us(100)));
    long_ns.push_back(overshoot_ns(from_ms(2)));
  }
  r.rows = {{"overshoot of a 100 us sleep", distribution_of(short_ns)},
            {"overshoot of a 2 ms sleep", distribution_of(long_ns)}};
  return r;
}

}  // namespace gar::bench
