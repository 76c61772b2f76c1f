#include "clients/garctl/trace.hpp"

#include <fmt/core.h>

#include <boost/json/serialize.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "clients/garctl/answer_fields.hpp"
#include "clients/garctl/chrome_trace.hpp"
#include "clients/garctl/gard_link.hpp"
#include "clients/garctl/replies.hpp"
#include "lib/linux/output_file.hpp"
#include "lib/linux/steady_clock.hpp"
#include "lib/linux/thread_timer.hpp"

namespace gar {
namespace {

namespace json = boost::json;

constexpr duration pause = from_ms(100);

class tracer {
 public:
  tracer(const gard_link& link, output_file& file) : link_(link), file_(file), into_(file.text()) {}

  // nullopt: gard was read to the end of the trace, or until `end`, or the file takes no more. What
  // was read before a failure is a whole trace too.
  std::optional<reply> read(uint64_t which, instant end) {
    name();  // who leaves before its first wait was read
    std::optional<reply> failed;
    while (!file_.failure()) {
      reply got = link_.change({{"op", "trace_read"}, {"trace", which}});
      const auto* part = std::get_if<json::value>(&got);
      if (!part) {
        failed = std::move(got);
        break;
      }
      if (into_.add(*part)) name();  // who comes and leaves meanwhile too
      lost_ = count_or_0(*part, "lost");
      // Without the field it is another version's answer, and no other will have it.
      if (flag_field(*part, "ended") || !field_at(*part, "ended")) break;
      if (steady_clock().now() >= end) {
        overdue_ = true;
        break;
      }
      if (list_field(*part, "waits").empty()) {
        (void)thread_timer().sleep_until(steady_clock().now() + pause);
      }
    }
    if (!failed) name();
    into_.end(lost_);
    return failed;
  }
  uint64_t waits() const { return into_.waits(); }
  uint64_t lost() const { return lost_; }
  bool overdue() const { return overdue_; }

 private:
  void name() {
    const reply clients = link_.ask_control("clients");
    if (const auto* answer = std::get_if<json::value>(&clients)) into_.name_clients(*answer);
    const reply streams = link_.ask_control("streams");
    if (const auto* answer = std::get_if<json::value>(&streams)) into_.name_streams(*answer);
  }

  const gard_link& link_;
  output_file& file_;
  chrome_trace into_;
  uint64_t lost_ = 0;
  bool overdue_ = false;
};

void say(const command_line& line, const tracer& read, terminal& with) {
  if (line.json) {
    with.out << fmt::format("{{\"file\":{},\"waits\":{},\"lost\":{}}}\n",
                            json::serialize(json::string(line.output)), read.waits(), read.lost());
    return;
  }
  with.out << fmt::format("{} waits in {}; open it in ui.perfetto.dev or chrome://tracing\n",
                          read.waits(), line.output);
  if (read.lost() > 0) with.out << fmt::format("{} more found no room\n", read.lost());
  if (read.waits() == 0) {
    with.out << "gard ended no wait meanwhile; under block and poll clients wait by themselves\n";
  }
}

std::string_view end_of_trace(const reply& failed) {
  const auto* nobody = std::get_if<unreachable>(&failed);
  if (!nobody) return "the trace ends where it was last read\n";
  return nobody->silent ? "the trace ends where gard fell silent\n"
                        : "the trace ends where gard went\n";
}

}  // namespace

int trace(const command_line& line, terminal& with, duration grace) {
  result<gard_link> link = gard_link::make({.control = line.control, .socket = {}});
  if (!link) return print_usage_error(link.error(), with);
  const auto file = output_file::make(line.output);
  if (!file) return print_cannot_write(line.output, file.error(), with);
  const uint64_t ms = line.span->ns / 1'000'000;
  const reply begun = link->change({{"op", "trace"}, {"for_ms", ms}});
  const auto* answer = std::get_if<json::value>(&begun);
  if (!answer) return print_failure(begun, with);
  const instant end = steady_clock().now() + *line.span + grace;
  link->end_at(end);
  tracer reads(*link, **file);
  const auto failed = reads.read(count_or_0(*answer, "trace"), end);
  if (failed && reads.waits() == 0) return print_failure(*failed, with);
  if (const auto wrong = (*file)->keep()) return print_cannot_write(line.output, *wrong, with);
  say(line, reads, with);
  if (reads.overdue()) {
    with.err << "garctl: gard did not end the trace in time; it ends where it was last read\n";
    return status_refused;
  }
  if (!failed) return status_fine;
  (void)print_failure(*failed, with);
  with.err << end_of_trace(*failed);
  return status_refused;
}

}  // namespace gar
