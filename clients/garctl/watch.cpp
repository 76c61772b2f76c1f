#include "clients/garctl/watch.hpp"

#include <algorithm>
#include <chrono>
#include <ostream>
#include <utility>

#include "clients/garctl/absence.hpp"
#include "clients/garctl/event_lines.hpp"
#include "clients/garctl/gard_link.hpp"
#include "clients/garctl/replies.hpp"
#include "lib/linux/output_reader.hpp"
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
  result<gard_link> link = gard_link::make({.control = line.control, .socket = {}});
  if (!link) return print_usage_error(link.error(), with);
  const instant end = line.span ? steady_clock().now() + *line.span : instant::never();
  event_lines lines(line.json, with.out_paint);
  if (line.kept) lines.from_the_first();
  absence gone(with);
  bool answered = false;
  while (with.out && !reader_left(with.out_fd) && (!answered || steady_clock().now() < end)) {
    std::string by;
    const reply got = link->ask(lines.request(), &by);
    const auto* answer = std::get_if<boost::json::value>(&got);
    if (!answer && !answered) return print_failure(got, with);
    if (!answer) {
      gone.failed(got);
      sleep_for(std::min(pause_without_gard, end - steady_clock().now()));
      continue;
    }
    gone.over();
    if (!std::exchange(answered, true)) link->end_at(end);
    with.out << lines.take(*answer, wall_ns(), by) << std::flush;
    if (!lines.more()) sleep_for(std::min(pause, end - steady_clock().now()));
  }
  return gone.status();
}

}  // namespace gar
