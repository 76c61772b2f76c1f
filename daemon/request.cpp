#include "daemon/request.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "lib/core/codec.hpp"
#include "lib/core/printable.hpp"
#include "proto/limits.hpp"

namespace gar {
namespace {

namespace json = boost::json;

constexpr size_t shown_bytes_max = 64;

struct op_entry {
  request_op op;
  std::string_view name;
  enum class taken_from : uint8_t { anybody, root, control } from;
  std::array<std::string_view, 3> keys;  // beside "op"
};

constexpr op_entry ops[] = {
    {request_op::status, "status", op_entry::taken_from::anybody, {}},
    {request_op::caps, "caps", op_entry::taken_from::anybody, {}},
    {request_op::clients, "clients", op_entry::taken_from::anybody, {}},
    {request_op::streams, "streams", op_entry::taken_from::anybody, {}},
    {request_op::points, "points", op_entry::taken_from::anybody, {}},
    {request_op::version, "version", op_entry::taken_from::anybody, {}},
    {request_op::plan_show, "plan_show", op_entry::taken_from::anybody, {}},
    {request_op::metrics, "metrics", op_entry::taken_from::root, {"dialect"}},
    {request_op::figures, "figures", op_entry::taken_from::root, {}},
    {request_op::events, "events", op_entry::taken_from::anybody, {"after"}},
    {request_op::trace, "trace", op_entry::taken_from::control, {"for_ms"}},
    {request_op::trace_read, "trace_read", op_entry::taken_from::control, {"trace"}},
    {request_op::plan_set, "plan_set", op_entry::taken_from::control, {"text", "client", "point"}},
    {request_op::plan_unset, "plan_unset", op_entry::taken_from::control, {"client", "point"}},
    {request_op::reload, "reload", op_entry::taken_from::control, {"replace"}},
};

constexpr bool in_order() {
  for (size_t i = 0; i < std::size(ops); ++i) {
    if (static_cast<size_t>(ops[i].op) != i) return false;
  }
  return true;
}
static_assert(in_order(), "entry_of indexes by op");

const op_entry& entry_of(request_op op) {
  return ops[static_cast<size_t>(op)];
}

error refused(std::string_view key, std::string_view expected) {
  return error(errc::InvalidArgument, {std::string(key), std::string(expected)});
}

std::string names() {
  std::string all;
  for (const op_entry& entry : ops) {
    if (!all.empty()) all += ", ";
    all += entry.name;
  }
  return all;
}

result<json::object> parse_object(std::string_view text) {
  json::error_code failed;
  json::value parsed = json::parse(json::string_view(text.data(), text.size()), failed);
  if (failed) return refused("request", fmt::format("is not JSON ({})", failed.message()));
  if (!parsed.is_object()) return refused("request", "expected a JSON object");
  return std::move(parsed.get_object());
}

result<const op_entry*> find_op(const json::object& from) {
  const json::value* op = from.if_contains("op");
  if (!op || !op->is_string()) {
    return refused("op", fmt::format("expected one of {} as a string", names()));
  }
  const std::string_view name(op->get_string().data(), op->get_string().size());
  const auto* found = std::find_if(std::begin(ops), std::end(ops),
                                   [&](const op_entry& entry) { return entry.name == name; });
  if (found != std::end(ops)) return found;
  return error(errc::UnknownRequest, {printable(name, shown_bytes_max), names()});
}

result<void> check_keys(const json::object& from, const op_entry& op) {
  for (const auto& member : from) {
    const std::string_view key(member.key().data(), member.key().size());
    const bool known =
        key == "op" || std::find(op.keys.begin(), op.keys.end(), key) != op.keys.end();
    if (!known || key.empty()) {
      return refused(printable(key, shown_bytes_max), fmt::format("is no key of {}", op.name));
    }
  }
  return {};
}

result<void> read_name(const json::object& from, const char* key,
                       std::optional<std::string>& into) {
  const json::value* value = from.if_contains(key);
  if (!value) return {};
  if (value->is_string()) {
    std::string name(value->get_string());
    if (proto::valid_name(name)) {
      into = std::move(name);
      return {};
    }
  }
  return refused(key, fmt::format("expected a name of 1 to {} bytes without control characters",
                                  proto::name_bytes_max));
}

result<void> read_dialect(const json::object& from, metrics_dialect& into) {
  const json::value* value = from.if_contains("dialect");
  if (!value) return {};
  const json::string* name = value->if_string();
  if (name && *name == "prometheus") {
    into = metrics_dialect::prometheus;
  } else if (!name || *name != "open_metrics") {
    return refused("dialect", "expected \"open_metrics\" or \"prometheus\"");
  }
  return {};
}

std::optional<uint64_t> count_at(const json::object& from, const char* key) {
  const json::value* value = from.if_contains(key);
  json::error_code wrong;
  if (!value || !value->is_number()) return std::nullopt;
  const auto count = value->to_number<uint64_t>(wrong);
  return wrong ? std::nullopt : std::optional(count);
}

result<void> read_counts(const json::object& from, control_request& into) {
  if (into.op == request_op::events && from.contains("after")) {
    into.after = count_at(from, "after");
    if (!into.after) return refused("after", "expected the number of an event, or 0");
  }
  if (into.op == request_op::trace_read) {
    const std::optional<uint64_t> which = count_at(from, "trace");
    if (!which) return refused("trace", "expected the number of a trace");
    into.trace = *which;
  }
  if (into.op == request_op::trace) {
    const std::optional<uint64_t> ms = count_at(from, "for_ms");
    if (!ms || *ms < 1 || *ms > proto::trace_ms_max) {
      return refused("for_ms",
                     fmt::format("expected milliseconds, from 1 to {}", proto::trace_ms_max));
    }
    into.trace_for = from_ms(*ms);
  }
  return {};
}

result<void> read_values(const json::object& from, control_request& into) {
  if (const json::value* replace = from.if_contains("replace")) {
    if (!replace->is_bool()) return refused("replace", "expected true or false");
    into.replace = replace->get_bool();
  }
  if (into.op == request_op::plan_set) {
    const json::value* text = from.if_contains("text");
    if (!text || !text->is_string()) return refused("text", "expected a plan as a string");
    into.text = std::string(text->get_string());
  }
  if (auto dialect = read_dialect(from, into.dialect); !dialect) return dialect;
  if (auto counts = read_counts(from, into); !counts) return counts;
  if (auto client = read_name(from, "client", into.scope.client); !client) return client;
  return read_name(from, "point", into.scope.point);
}

}  // namespace

std::string_view name_of(request_op op) {
  return entry_of(op).name;
}

bool changes(request_op op) {
  return entry_of(op).from == op_entry::taken_from::control;
}

bool whole_node(request_op op) {
  return entry_of(op).from == op_entry::taken_from::root;
}

result<control_request> parse_request(std::string_view text) {
  result<json::object> from = parse_object(text);
  if (!from) return from.error();
  const result<const op_entry*> op = find_op(*from);
  if (!op) return op.error();
  if (auto known = check_keys(*from, **op); !known) return known.error();
  control_request request;
  request.op = (*op)->op;
  if (auto read = read_values(*from, request); !read) return read.error();
  return request;
}

}  // namespace gar
