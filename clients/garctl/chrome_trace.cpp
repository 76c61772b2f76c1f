#include "clients/garctl/chrome_trace.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <ostream>
#include <utility>

#include "clients/garctl/answer_fields.hpp"
#include "lib/core/error.hpp"

namespace gar {

namespace json = boost::json;

// In order, whatever came.
struct chrome_trace::times {
  explicit times(const json::value& wait) {
    notified = count_or_0(wait, "notified_ns");
    seen = std::min(count_or_0(wait, "seen_ns"), notified);
    start = std::min(count_or_0(wait, "start_ns"), seen);
    const uint64_t known = count_or_0(wait, "registered_ns");
    registered = known == 0 ? start : std::clamp(known, start, seen);
    slept = std::min(registered + std::min(count_or_0(wait, "slept_ns"), seen - registered), seen);
  }
  uint64_t start, registered, slept, seen, notified;
};

chrome_trace::chrome_trace(std::ostream& out) : out_(out) {
  out_ << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
}

bool chrome_trace::add(const json::value& waits) {
  const size_t before = streams_.size();
  for (const json::value& wait : list_field(waits, "waits")) {
    add_one(wait);
    streams_.emplace(count_or_0(wait, "client_id"), count_or_0(wait, "stream"));
  }
  return streams_.size() > before;
}

void chrome_trace::add_one(const json::value& wait) {
  const times at(wait);
  if (waits_++ == 0) origin_ns_ = at.start;
  const uint64_t code = count_or_0(wait, "code");
  const error_entry* failed = code == 0 ? nullptr : find_error(static_cast<uint16_t>(code));
  const bool confirmed = flag_field(wait, "confirmed");
  json::object arguments{{"kind", text_field(wait, "kind")},
                         {"parks", count_or_0(wait, "parks")},
                         {"backstop_queries", count_or_0(wait, "backstop_queries")},
                         {"confirmed_by", confirmed ? "gard" : "owner, afterwards"}};
  if (code != 0) arguments["error"] = failed ? failed->name : std::string_view("unknown");
  event("b", "wait", at.start, wait, std::move(arguments));
  const auto span = [&](std::string_view name, uint64_t from, uint64_t to) {
    if (to == from) return;
    event("b", name, from, wait);
    event("e", name, to, wait);
  };
  span("registered", at.start, at.registered);
  span("slept", at.registered, at.slept);
  span("parked", at.slept, at.seen);
  event("n", "seen", at.seen, wait);
  span("notified", at.seen, at.notified);
  if (confirmed) event("n", "confirmed", at.notified, wait);
  event("e", "wait", at.notified, wait);
}

void chrome_trace::event(std::string_view phase, std::string_view name, uint64_t at_ns,
                         const json::value& of, json::object arguments) {
  const uint64_t since = at_ns - std::min(at_ns, origin_ns_);
  const uint64_t before = origin_ns_ - std::min(at_ns, origin_ns_);
  const double us = (static_cast<double>(since) - static_cast<double>(before)) / 1000;
  json::object shown{{"ph", phase},
                     {"cat", "wait"},
                     {"name", name},
                     {"id", fmt::format("{:#x}", count_or_0(of, "id"))},
                     {"pid", count_or_0(of, "client_id")},
                     {"tid", count_or_0(of, "stream")},
                     {"ts", us}};
  if (!arguments.empty()) shown["args"] = std::move(arguments);
  write(shown);
}

void chrome_trace::name_clients(const json::value& clients) {
  for (const json::value& each : list_field(clients, "clients")) {
    const uint64_t id = count_or_0(each, "id");
    name("process_name", id, 0,
         fmt::format("{} (client {}, pid {})", text_field(each, "name"), id,
                     count_text(each, "pid")));
  }
}

void chrome_trace::name_streams(const json::value& streams) {
  for (const json::value& each : list_field(streams, "streams")) {
    const uint64_t stream = count_or_0(each, "stream");
    const std::string own = optional_text_field(each, "name").value_or("");
    name("thread_name", count_or_0(each, "client_id"), stream,
         fmt::format("stream {}{}{}", stream, own.empty() ? "" : ": ", own));
  }
}

void chrome_trace::name(std::string_view what, uint64_t client, uint64_t stream,
                        std::string_view name) {
  if (!named_.emplace(what, client, stream).second) return;
  write(json::object{{"ph", "M"},
                     {"name", what},
                     {"pid", client},
                     {"tid", stream},
                     {"args", json::object{{"name", name}}}});
}

void chrome_trace::write(const json::value& event) {
  out_ << (std::exchange(first_, false) ? "\n" : ",\n") << json::serialize(event);
}

void chrome_trace::end(uint64_t lost) {
  out_ << "\n],\"otherData\":" << json::serialize(json::object{{"waits", waits_}, {"lost", lost}})
       << "}\n";
}

}  // namespace gar
