#include "clients/garctl/event_lines.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <ctime>

#include "clients/garctl/answer_fields.hpp"

namespace gar {
namespace {

namespace json = boost::json;

constexpr uint64_t s_ns = 1'000'000'000;
constexpr uint64_t ms_ns = 1'000'000;

// "18:03:07.412", of the place where garctl runs.
std::string clock_text(uint64_t wall_ns) {
  const auto seconds = static_cast<std::time_t>(wall_ns / s_ns);
  std::tm at{};
  ::localtime_r(&seconds, &at);
  return fmt::format("{:02}:{:02}:{:02}.{:03}", at.tm_hour, at.tm_min, at.tm_sec,
                     wall_ns % s_ns / ms_ns);
}

// "2026-01-31T18:03:07.412345Z"
std::string date_text(uint64_t wall_ns) {
  const auto seconds = static_cast<std::time_t>(wall_ns / s_ns);
  std::tm at{};
  ::gmtime_r(&seconds, &at);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", at.tm_year + 1900, at.tm_mon + 1,
                     at.tm_mday, at.tm_hour, at.tm_min, at.tm_sec, wall_ns % s_ns / 1'000);
}

bool is_bad(std::string_view event) {
  return event == "client_refused" || event == "wait_failed" || event == "wait_timed_out" ||
         event == "lost_store" || event == "warning" || event == "request_refused" ||
         event == "early_word";
}

std::string who_text(const json::value& event) {
  const auto client = optional_text_field(event, "client");
  const auto id = count_field(event, "client_id");
  const auto uid = count_field(event, "uid");
  if (!id) return uid ? fmt::format("uid {}", *uid) : "gard";
  return fmt::format("{} ({})", client.value_or("?"), *id);
}

}  // namespace

json::object event_lines::request() const {
  json::object asked{{"op", "events"}};
  if (after_) asked["after"] = *after_;
  return asked;
}

std::string event_lines::take(const json::value& answer, uint64_t wall_ns, std::string_view from) {
  const uint64_t log = count_or_0(answer, "log");
  if (log_ != 0 && log != log_) {
    begin_anew(log, from);
    seen_ns_ = 0;
    return notice("restarted", "gard was restarted; its events begin anew", {}, wall_ns);
  }
  if (log_ != 0 && from != from_) {
    begin_anew(log, from);
    again_ = true;
    return {};
  }
  log_ = log;
  from_ = from;
  return take_events(answer, wall_ns);
}

// The answer was asked for by a number that meant something else.
void event_lines::begin_anew(uint64_t log, std::string_view from) {
  log_ = log;
  from_ = from;
  after_ = 0;
  more_ = true;
  again_ = false;
}

std::string event_lines::take_events(const json::value& answer, uint64_t wall_ns) {
  const uint64_t now_ns = count_or_0(answer, "now_ns");
  const uint64_t next = count_field(answer, "next").value_or(after_.value_or(0));
  uint64_t before = after_.value_or(0);
  uint64_t last_ns = now_ns;
  uint64_t shown = 0;
  std::string lines;
  for (const json::value& event : list_field(answer, "events")) {
    const uint64_t at_ns = last_ns = count_field(event, "at_ns").value_or(now_ns);
    if (again_ && at_ns <= seen_ns_) {
      before = count_or_0(event, "number");
      continue;
    }
    const uint64_t age_ns = now_ns > at_ns ? now_ns - at_ns : 0;
    lines += line_of(event, wall_ns > age_ns ? wall_ns - age_ns : 0);
    ++shown;
  }
  // Of numbers that are missing in front of the first one shown, some may have been shown.
  const uint64_t missing = next - std::min(next, before + shown);
  const uint64_t lost = again_ ? missing : after_ ? count_or_0(answer, "lost") : 0;
  if (lost > 0) lines.insert(0, lost_line(lost, wall_ns));
  after_ = next;
  more_ = flag_field(answer, "more");
  seen_ns_ = std::max(seen_ns_, more_ ? last_ns : now_ns);
  again_ = again_ && more_;
  return lines;
}

std::string event_lines::line_of(const json::value& event, uint64_t wall_ns) const {
  if (as_json_) {
    json::object shown{{"time", date_text(wall_ns)}};
    if (event.is_object()) {
      for (const auto& field : event.get_object()) shown[field.key()] = field.value();
    }
    return json::serialize(shown) + '\n';
  }
  const std::string name = text_field(event, "event");
  const std::string padded = fmt::format("{:<16}", name);
  std::string line = colours_.faint(clock_text(wall_ns)) + "  " +
                     (is_bad(name) ? colours_.yellow(padded) : padded) + "  " + who_text(event);
  if (const auto stream = count_field(event, "stream")) line += fmt::format("  stream {}", *stream);
  const auto text = optional_text_field(event, "text");
  if (text && !text->empty()) line += ": " + *text;
  return line + '\n';
}

std::string event_lines::lost_line(uint64_t lost, uint64_t wall_ns) const {
  return notice("lost",
                fmt::format("{}{} events were pushed out unread", again_ ? "up to " : "", lost),
                {{"lost", lost}}, wall_ns);
}

std::string event_lines::notice(std::string_view what, std::string_view text, json::object fields,
                                uint64_t wall_ns) const {
  if (!as_json_) {
    return colours_.faint(clock_text(wall_ns)) + "  " +
           colours_.yellow(fmt::format("{:<16}", what)) + "  " + std::string(text) + '\n';
  }
  json::object shown{{"time", date_text(wall_ns)}, {"event", what}, {"text", text}};
  for (auto& field : fields) shown[field.key()] = field.value();
  return json::serialize(shown) + '\n';
}

}  // namespace gar
