#include "clients/garctl/top.hpp"

#include <unistd.h>

#include <algorithm>
#include <ostream>

#include "clients/garctl/absence.hpp"
#include "clients/garctl/gard_link.hpp"
#include "clients/garctl/readable.hpp"
#include "clients/garctl/replies.hpp"
#include "clients/garctl/top_screen.hpp"
#include "clients/garctl/top_view.hpp"
#include "lib/linux/output_reader.hpp"
#include "lib/linux/steady_clock.hpp"
#include "lib/linux/thread_timer.hpp"

namespace gar {
namespace {

constexpr duration between_looks = from_ms(1000);
constexpr duration between_keys = from_ms(100);
constexpr size_t page_columns = 120;

// nullopt: the view has taken the look.
std::optional<reply> look(const gard_link& link, top_view& view) {
  top_look now;
  now.list = view.list();
  reply status = link.ask("status");
  auto* told = std::get_if<boost::json::value>(&status);
  if (!told) return status;
  reply entries = link.ask(name_of(now.list));
  auto* listed = std::get_if<boost::json::value>(&entries);
  if (!listed) return entries;
  now.at_ns = steady_clock().now().ns;
  now.status = std::move(*told);
  now.entries = std::move(*listed);
  view.take(now);
  return std::nullopt;
}

std::string failure_text(const reply& got) {
  if (const auto* refused = std::get_if<refusal>(&got)) return readable_text(refused->text);
  return std::get<unreachable>(got).silent ? "gard is silent" : "gard is not reachable";
}

void print_page(top_view& view, terminal& with) {
  const auto lines = view.lines(page_columns, SIZE_MAX);
  for (size_t i = 0; i + 1 < lines.size(); ++i) with.out << lines[i].text << '\n';
  with.out << std::endl;
}

// The first look is done. One page where it is not said for how long.
int print_pages(const gard_link& link, instant end, top_view& view, terminal& with) {
  const bool once = end == instant::never();
  absence gone(with);
  do {
    const instant next = steady_clock().now() + between_looks;
    (void)thread_timer().sleep_until(std::min(next, end));
    if (const auto failed = look(link, view)) {
      gone.failed(*failed);
      continue;
    }
    gone.over();
    print_page(view, with);
  } while (!once && steady_clock().now() < end && with.out && !reader_left(with.out_fd));
  return gone.status();
}

int show(const gard_link& link, instant end, top_view& view) {
  instant next_look = steady_clock().now() + between_looks;
  top_screen screen;
  while (!screen.interrupted()) {
    screen.draw(view);
    const top_list before = view.list();
    if (const auto key = screen.key_within(between_keys); key && !view.key(*key)) break;
    const instant now = steady_clock().now();
    if (now >= end) break;
    // Another list has its first rows at once, and its rates a moment later.
    const bool other = view.list() != before;
    if (!other && now < next_look) continue;
    if (const auto failed = look(link, view)) view.failed(failure_text(*failed));
    next_look = steady_clock().now() + between_looks / (other ? 2 : 1);
  }
  return status_fine;
}

}  // namespace

int top(const command_line& line, terminal& with) {
  if (line.json) {
    return print_usage_error(
        error(errc::InvalidArgument,
              {"--json", "top is for people; ask status, clients, streams or points"}),
        with);
  }
  result<gard_link> link = gard_link::make({.control = line.control, .socket = {}});
  if (!link) return print_usage_error(link.error(), with);
  const instant end = line.span ? steady_clock().now() + *line.span : instant::never();
  top_view view;
  if (const auto failed = look(*link, view)) return print_failure(*failed, with);
  link->end_at(end);
  const bool person = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  return person ? show(*link, end, view) : print_pages(*link, end, view, with);
}

}  // namespace gar
