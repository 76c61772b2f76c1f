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
  case_result r;
  const least_timer_slack exact;
  samples short_ns, long_ns;
  for (int round = 0; round < (o.quick ? 2 : 15); ++round) {
    short_ns.begin_round();
    long_ns.begin_round();
    for (int i = 0; i < (o.quick ? 10 : 60); ++i) {
      short_ns.add(overshoot_ns(from_us(100)));
      long_ns.add(overshoot_ns(from_ms(2)));
    }
  }
  r.rows = {{"overshoot of a 100 us sleep", short_ns.all()},
            {"overshoot of a 2 ms sleep", long_ns.all()}};
  return r;
}

}  // namespace gar::bench
