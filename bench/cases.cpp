#include "bench/measure.hpp"

namespace gar::bench {

const std::vector<bench_case>& all_cases() {
  static const std::vector<bench_case> cases = {
      {"inline",
       "how soon after a store does an inline wait return?",
       "a bare spinning reader",
       "sleeping, a device's query",
       {{"inline_over_spin", 2}},
       run_inline},
      {"blocked_wake",
       "how soon after a store does a client blocked in gar_wait return?",
       "a spinning relay and one futex wake",
       "registering the wait, a device's query",
       {{"futex_over_floor", 1.10}, {"futex_p99_over_floor", 1.3}},
       run_blocked_wake},
      {"pipe_wake",
       "how soon after a store does an event loop hold the completion?",
       "a spinning relay, a pipe and epoll",
       "starting the wait",
       {{"pipe_over_floor", 1.10}},
       run_pipe_wake},
      {"callback",
       "what does waiting by a driver's host callback cost?",
       "our own blocked client",
       "a real driver",
       {{"callback_over_futex", 1.1, false}},
       run_callback},
      {"cpu_of_one",
       "what CPU time does a wait of 10 ms cost, client and gard together?",
       "spinning for 10 ms",
       "the producer",
       {{"cpu_ratio_10ms_1", 0.05}, {"wake_10ms_over_spin_us", 1}},
       run_cpu_of_one},
      {"scan",
       "what does one look of a reactor cost per armed word?",
       "a plain loop of acquire loads over the same words",
       "waking what was found",
       {{"scan_4096_ns", 2}},
       run_scan},
      {"start",
       "how long from exec until gard is ready?",
       "none",
       "systemd, a cold page cache",
       {{"ready_ms", 60}},
       run_start},
      {"sleep",
       "how far does a timed sleep overshoot?",
       "none",
       "timerfd and io_uring",
       {},
       run_sleep},
  };
  return cases;
}

}  // namespace gar::bench
