#include "clients/garctl/gard_link.hpp"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>

#include "lib/core/printable.hpp"
#include "lib/linux/control_request.hpp"
#include "lib/linux/steady_clock.hpp"
#include "lib/linux/system_call.hpp"

namespace gar {
namespace {

namespace json = boost::json;

std::string text_at(const json::object& from, std::string_view key) {
  const json::value* value = from.if_contains(key);
  const json::string* text = value ? value->if_string() : nullptr;
  return text ? std::string(*text) : std::string();
}

std::optional<uint64_t> count_at(const json::object& from, std::string_view key) {
  const json::value* value = from.if_contains(key);
  if (!value) return std::nullopt;
  json::error_code wrong;
  const auto number = value->to_number<uint64_t>(wrong);
  return wrong ? std::nullopt : std::optional(number);
}

refusal refusal_of(const json::object& from) {
  refusal refused;
  refused.code = static_cast<uint16_t>(count_at(from, "code").value_or(0));
  refused.name = text_at(from, "name");
  refused.text = text_at(from, "text");
  refused.remedy = text_at(from, "remedy");
  refused.position = count_at(from, "position");
  refused.fault = text_at(from, "fault");
  return refused;
}

// What a person needs to know of a failed attempt; the path is named beside it.
std::string reason_of(const error& failed) {
  return failed.code() == errc::SystemCall ? text_of_errno(failed.os_number()) : failed.text();
}

using way = result<std::string> (*)(const std::string&, std::string_view, duration);

// nullopt: the next path may know better.
std::optional<reply> try_one(way how, const socket_candidate& at, const std::string& request,
                             duration patience, unreachable& failed) {
  const result<std::string> answer = how(at.path, request, patience);
  if (!answer) {
    failed.attempts.push_back({at.path, reason_of(answer.error())});
    failed.silent = answer.error().os_number() == ETIMEDOUT;
    return std::nullopt;
  }
  std::optional<reply> read = read_answer(*answer);
  if (!read) failed.attempts.push_back({at.path, "whoever listens there is not gard"});
  return read;
}

}  // namespace

std::optional<reply> read_answer(const std::string& text) {
  json::error_code wrong;
  json::value answer = json::parse(text, wrong);
  const json::object* fields = wrong ? nullptr : answer.if_object();
  const json::value* ok = fields ? fields->if_contains("ok") : nullptr;
  if (!ok || !ok->is_bool()) return std::nullopt;
  const json::value* body = fields->if_contains(ok->get_bool() ? "result" : "error");
  if (!body) return std::nullopt;
  if (ok->get_bool()) return reply(*body);
  if (!body->is_object()) return std::nullopt;
  return reply(refusal_of(body->get_object()));
}

result<gard_link> gard_link::make(const gard_link_options& options) {
  const socket_environment env = read_socket_environment();
  gard_link link;
  link.patience_ = options.patience;
  link.control_named_ = options.control.has_value();
  const auto control =
      connect_paths({.role = socket_role::control, .flag = options.control, .configured = {}}, env);
  if (!control) return control.error();
  link.control_ = *control;
  const auto clients =
      connect_paths({.role = socket_role::clients, .flag = options.socket, .configured = {}}, env);
  // Where a control socket was named, a clients' socket that is named wrongly is not needed.
  if (!clients && (!link.control_named_ || options.socket)) return clients.error();
  if (clients) link.clients_ = *clients;
  return link;
}

reply gard_link::ask(std::string_view op) const {
  return ask(json::object{{"op", op}});
}

reply gard_link::ask(const json::object& request, std::string* answered_by) const {
  const std::vector<socket_candidate> none;
  return try_all(control_, control_named_ ? none : clients_, json::serialize(request), answered_by);
}

reply gard_link::change(const json::object& request) const {
  return try_all(control_, {}, json::serialize(request), nullptr);
}

reply gard_link::ask_control(std::string_view op) const {
  return try_all(control_, {}, json::serialize(json::object{{"op", op}}), nullptr);
}

reply gard_link::ask_as_client(std::string_view op, std::string* answered_by) const {
  return try_all({}, clients_, json::serialize(json::object{{"op", op}}), answered_by);
}

reply gard_link::try_all(const std::vector<socket_candidate>& control,
                         const std::vector<socket_candidate>& clients, const std::string& request,
                         std::string* answered_by) const {
  unreachable failed;
  for (const auto& [candidates, how] :
       {std::pair{&control, way(request_by_line)}, std::pair{&clients, way(request_by_ask)}}) {
    for (const socket_candidate& at : *candidates) {
      if (auto got = try_one(how, at, request, patience_left(), failed)) {
        if (answered_by) *answered_by = at.path;
        return *got;
      }
      if (failed.silent) return failed;
    }
  }
  return failed;
}

duration gard_link::patience_left() const {
  return std::min(patience_, std::max(end_ - steady_clock().now(), moment_));
}

std::string text_of(const unreachable& failed) {
  std::string text;
  for (const attempt& each : failed.attempts) {
    text += "  " + readable_text(each.path) + ": " + readable_text(each.why) + '\n';
  }
  return text;
}

}  // namespace gar
