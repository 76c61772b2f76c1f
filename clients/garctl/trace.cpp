#include "clients/garctl/trace.hpp"

#include <fmt/core.h>

#include <boost/json/serialize.hpp>
#include <cstdio>
#include <fstream>
#include <optional>

#include "clients/garctl/answer_fields.hpp"
#include "clients/garctl/chrome_trace.hpp"
#include "clients/garctl/gard_link.hpp"
#include "clients/garctl/replies.hpp"
#include "lib/linux/steady_clock.hpp"
#include "lib/linux/thread_timer.hpp"

namespace gar {
namespace {

namespace json = boost::json;

constexpr duration pause = from_ms(100);

class tracer {
 public:
  tracer(const gard_link& link, chrome_trace& into) : link_(link), into_(into) {}

  // nullopt: gard was read to the end of the trace.
  std::optional<reply> read(uint64_t which) {
    name();  // who leaves before its first wait was read
    for (;;) {
      const reply got = link_.change({{"op", "trace_read"}, {"trace", which}});
      const auto* part = std::get_if<json::value>(&got);
      if (!part) return got;
      if (into_.add(*part)) name();  // who comes and leaves meanwhile too
      lost_ = count_field(*part, "lost").value_or(0);
      if (flag_field(*part, "ended")) break;
      if (list_field(*part, "waits").empty()) {
        (void)thread_timer().sleep_until(steady_clock().now() + pause);
      }
    }
    name();
    into_.end(lost_);
    return std::nullopt;
  }
  uint64_t lost() const { return lost_; }

 private:
  void name() {
    const reply clients = link_.ask_control("clients");
    if (const auto* answer = std::get_if<json::value>(&clients)) into_.name_clients(*answer);
    const reply streams = link_.ask_control("streams");
    if (const auto* answer = std::get_if<json::value>(&streams)) into_.name_streams(*answer);
  }

  const gard_link& link_;
  chrome_trace& into_;
  uint64_t lost_ = 0;
};

int cannot_write(const std::string& file, terminal& with) {
  with.err << "garctl: " << file << " cannot be written\n";
  return status_refused;
}

}  // namespace

int trace(const command_line& line, terminal& with) {
  const result<gard_link> link = gard_link::make({.control = line.control, .socket = {}});
  if (!link) return print_usage_error(link.error(), with);
  // An earlier file stays until there is a whole one.
  const std::string part = line.output + ".part";
  std::ofstream file(part, std::ios::binary | std::ios::trunc);
  if (!file) return cannot_write(part, with);
  const uint64_t ms = line.span->ns / 1'000'000;
  const reply begun = link->change({{"op", "trace"}, {"for_ms", ms}});
  const auto* answer = std::get_if<json::value>(&begun);
  chrome_trace into(file);
  tracer reads(*link, into);
  const std::optional<reply> failed =
      answer ? reads.read(count_field(*answer, "trace").value_or(0)) : std::optional<reply>(begun);
  file.close();
  if (failed || !file || std::rename(part.c_str(), line.output.c_str()) != 0) {
    std::remove(part.c_str());
    return failed ? print_failure(*failed, with) : cannot_write(line.output, with);
  }
  if (line.json) {
    with.out << fmt::format("{{\"file\":{},\"waits\":{},\"lost\":{}}}\n",
                            json::serialize(json::string(line.output)), into.waits(), reads.lost());
  } else {
    with.out << fmt::format("{} waits in {}; open it in ui.perfetto.dev or chrome://tracing\n",
                            into.waits(), line.output);
    if (reads.lost() > 0) with.out << fmt::format("{} more found no room\n", reads.lost());
  }
  return status_fine;
}

}  // namespace gar
