#include "lib/linux/timer_slack.hpp"

#include <sys/prctl.h>

#include <cerrno>
#include <string>

#include "lib/linux/system_call.hpp"

namespace gar {

result<uint64_t> timer_slack_ns() {
  const int slack_ns = ::prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
  if (slack_ns < 0) return last_system_error("prctl(PR_GET_TIMERSLACK)");
  return static_cast<uint64_t>(slack_ns);
}

result<void> set_timer_slack_ns(uint64_t slack_ns) {
  if (::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack_ns), 0, 0, 0) != 0) {
    return last_system_error("prctl(PR_SET_TIMERSLACK)");
  }
  result<uint64_t> now_ns = timer_slack_ns();
  if (!now_ns) return now_ns.error();
  if (*now_ns != slack_ns && *now_ns != 0) {
    return error(errc::SystemCall,
                 {"prctl(PR_SET_TIMERSLACK)", "it stayed at " + std::to_string(*now_ns) + " ns"});
  }
  return {};
}

least_timer_slack::least_timer_slack() {
  result<uint64_t> slack_ns = timer_slack_ns();
  if (!slack_ns || *slack_ns <= timer_slack_ns_least) return;
  if (set_timer_slack_ns(timer_slack_ns_least)) before_ns_ = *slack_ns;
}

least_timer_slack::~least_timer_slack() {
  if (before_ns_ == 0) return;
  // A refusal leaves the sleeps of this thread more exact than they were, which harms nobody.
  result<void> restored = set_timer_slack_ns(before_ns_);
  (void)restored;
}

}  // namespace gar
