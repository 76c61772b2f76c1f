#include "clients/garctl/watch.hpp"

#include <algorithm>
#include <chrono>
#include <ostream>
#include <utility>

#include "clients/garctl/event_lines.hpp"
#include "clients/garctl/gard_link.hpp"
#include "clients/garctl/replies.hpp"
#include "lib/linux/steady_clock.hpp"
#include "lib/linux/thread_timer.hpp"

namespace gar {
namespace {

// Between questions; a person sees no difference, and gard is woken ten times a second for it.
constexpr duration pause = from_ms(100);
constexpr duration pause_without_gard = from_ms(500);

uint64_t wall_ns() {
  using std::chrono::duration_cast;
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(duration_cast<std::chrono::nanoseconds>(since).count());
}

void sleep_for(duration d) {
  (void)thread_timer().sleep_until(steady_clock().now() + d);
}

}  // namespace

int watch(const command_line& line, terminal& with) {
  const result<gard_link> link = gard_link::make({.control = line.control, .socket = {}});
  if (!link) return print_usage_error(link.error(), with);
  const instant end = line.span ? steady_clock().now() + *line.span : instant::never();
  event_lines lines(line.json, with.out_paint);
  if (line.kept) lines.from_the_first();
  bool answered = false;
  bool gone = false;
  while (with.out && (!answered || steady_clock().now() < end)) {
    const reply got = link->ask(lines.request());
    const auto* answer = std::get_if<boost::json::value>(&got);
    if (!answer && (!answered || std::holds_alternative<refusal>(got))) {
      return print_failure(got, with);
    }
    if (!answer) {
      if (!std::exchange(gone, true))
        with.err << "garctl: gard is gone; waiting for the next one\n";
      sleep_for(pause_without_gard);
      continue;
    }
    answered = true;
    gone = false;
    with.out << lines.take(*answer, wall_ns()) << std::flush;
    if (!lines.more()) sleep_for(std::min(pause, end - steady_clock().now()));
  }
  return status_fine;
}

}  // namespace gar
