#include "clients/garctl/event_lines.hpp"

#include <fmt/core.h>

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

std::string event_lines::take(const json::value& answer, uint64_t wall_ns) {
  std::string lines;
  const uint64_t log = count_or_0(answer, "log");
  if (log_ != 0 && log != log_) {
    lines = notice("restarted", "gard was restarted; its events begin anew", {}, wall_ns);
    log_ = log;
    after_ = 0;
    more_ = true;
    return lines;
  }
  log_ = log;
  if (after_ && count_or_0(answer, "lost") > 0) {
    const uint64_t lost = *count_field(answer, "lost");
    lines += notice("lost", fmt::format("{} events were pushed out unread", lost), {{"lost", lost}},
                    wall_ns);
  }
  const uint64_t now_ns = count_or_0(answer, "now_ns");
  for (const json::value& event : list_field(answer, "events")) {
    const uint64_t at_ns = count_field(event, "at_ns").value_or(now_ns);
    const uint64_t age_ns = now_ns > at_ns ? now_ns - at_ns : 0;
    lines += line_of(event, wall_ns > age_ns ? wall_ns - age_ns : 0);
  }
  after_ = count_field(answer, "next").value_or(after_.value_or(0));
  more_ = flag_field(answer, "more");
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
  const std::string text = text_field(event, "text");
  if (!text.empty() && text != "?") line += ": " + text;
  return line + '\n';
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
