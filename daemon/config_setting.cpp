#include "daemon/config_setting.hpp"

#include <fmt/core.h>

#include <charconv>

#include "daemon/loopback.hpp"
#include "lib/core/look_pace.hpp"
#include "lib/core/quantity.hpp"

namespace gar {
namespace {

constexpr size_t path_bytes_max = 107;  // what the address of a Unix socket holds
constexpr uint32_t cpu_max = 1023;      // what one affinity mask of the C library holds
constexpr uint32_t fifo_priority_max = 99;
constexpr std::string_view fifo_prefix = "fifo:";

// Where a path is: it may not be set.
config_setting path(std::string_view name, std::optional<std::string> daemon_config::*into) {
  return {"daemon", name,
          fmt::format("the absolute path of a socket, of at most {} bytes, as a string",
                      path_bytes_max),
          [into](const config_value& value, config& c) {
            const auto* text = std::get_if<std::string>(&value);
            if (!text || !text->starts_with('/') || text->size() > path_bytes_max) return false;
            if (text->find('\0') != std::string::npos) return false;
            c.daemon.*into = *text;
            return true;
          },
          [into](const config& c) {
            return c.daemon.*into ? toml_quoted(*(c.daemon.*into)) : std::string();
          }};
}

config_setting metrics_listen() {
  return {"metrics", "listen",
          "an address of this machine's loopback and a port from 1 to 65535, such as "
          "\"127.0.0.1:9746\" or \"[::1]:9746\"",
          [](const config_value& value, config& c) {
            const auto* text = std::get_if<std::string>(&value);
            if (!text || !parse_loopback(*text)) return false;
            c.metrics.listen = *text;
            return true;
          },
          [](const config& c) {
            return c.metrics.listen ? toml_quoted(*c.metrics.listen) : std::string();
          }};
}

// One of a list of names; `place` says where in a config the value is.
template <class Place, class Parse>
config_setting named(std::string_view section, std::string_view name, Place place,
                     std::string_view names, Parse parse) {
  return {section, name, fmt::format("one of {} as a string", names),
          [=](const config_value& value, config& c) {
            const auto* text = std::get_if<std::string>(&value);
            if (!text) return false;
            const auto parsed = parse(*text);
            if (parsed) place(c) = *parsed;
            return parsed.has_value();
          },
          [=](const config& c) { return toml_quoted(name_of(place(c))); }};
}

template <class Place>
config_setting yes_or_no(std::string_view section, std::string_view name, Place place) {
  return {section, name, "true or false",
          [=](const config_value& value, config& c) {
            const auto* flag = std::get_if<bool>(&value);
            if (flag) place(c) = *flag;
            return flag != nullptr;
          },
          [=](const config& c) { return std::string(place(c) ? "true" : "false"); }};
}

// From nothing to `most`.
config_setting time_span(std::string_view name, duration executor_config::*into, duration most) {
  return {
      "executor", name,
      fmt::format("a duration with its unit as a string, from \"0us\" to \"{}\"", text_of(most)),
      [=](const config_value& value, config& c) {
        const auto* text = std::get_if<std::string>(&value);
        if (!text) return false;
        const result<duration> span = parse_duration(*text);
        if (!span || *span > most) return false;
        c.executor.*into = *span;
        return true;
      },
      [=](const config& c) { return toml_quoted(text_of(c.executor.*into)); }};
}

config_setting cpu() {
  return {"latency", "cpu", fmt::format("the number of a CPU, from 0 to {}", cpu_max),
          [](const config_value& value, config& c) {
            const auto* number = std::get_if<int64_t>(&value);
            if (!number || *number < 0 || *number > cpu_max) return false;
            c.latency.cpu = static_cast<uint32_t>(*number);
            return true;
          },
          [](const config& c) {
            return c.latency.cpu ? std::to_string(*c.latency.cpu) : std::string();
          }};
}

std::optional<uint32_t> parse_fifo_priority(std::string_view text) {
  if (!text.starts_with(fifo_prefix)) return std::nullopt;
  text.remove_prefix(fifo_prefix.size());
  uint32_t priority = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), priority);
  const bool whole = failed == std::errc() && end == text.data() + text.size();
  if (!whole || priority < 1 || priority > fifo_priority_max) return std::nullopt;
  return priority;
}

config_setting scheduling() {
  return {"latency", "scheduling",
          fmt::format("\"other\", or \"fifo:N\" with N from 1 to {}", fifo_priority_max),
          [](const config_value& value, config& c) {
            const auto* text = std::get_if<std::string>(&value);
            if (!text) return false;
            const std::optional<uint32_t> priority = parse_fifo_priority(*text);
            if (!priority && *text != "other") return false;
            c.latency.fifo_priority = priority;
            return true;
          },
          [](const config& c) {
            if (!c.latency.fifo_priority) return std::string("\"other\"");
            return fmt::format("\"{}{}\"", fifo_prefix, *c.latency.fifo_priority);
          }};
}

config_setting limit(std::string_view name, uint32_t node_limits::*into) {
  const uint32_t most = node_limits_max.*into;
  return {"limits", name, fmt::format("a whole number from 1 to {}", most),
          [=](const config_value& value, config& c) {
            const auto* number = std::get_if<int64_t>(&value);
            if (!number || *number < 1 || *number > most) return false;
            c.limits.*into = static_cast<uint32_t>(*number);
            return true;
          },
          [=](const config& c) { return std::to_string(c.limits.*into); }};
}

config_setting ring_entries() {
  return {
      "limits", "ring_entries",
      fmt::format("a power of two from {} to {}", proto::ring_entries_min, proto::ring_entries_max),
      [](const config_value& value, config& c) {
        const auto* number = std::get_if<int64_t>(&value);
        if (!number || *number < 0) return false;
        if (!proto::valid_ring_entries(static_cast<uint64_t>(*number))) return false;
        c.limits.ring_entries = static_cast<uint32_t>(*number);
        return true;
      },
      [](const config& c) { return std::to_string(c.limits.ring_entries); }};
}

config_setting byte_limit(std::string_view name, uint32_t node_limits::*into, uint32_t least) {
  const uint32_t most = node_limits_max.*into;
  return {"limits", name,
          fmt::format("a size with its unit as a string, from \"{}\" to \"{}\"",
                      text_of_bytes(least), text_of_bytes(most)),
          [=](const config_value& value, config& c) {
            const auto* text = std::get_if<std::string>(&value);
            if (!text) return false;
            const result<uint64_t> bytes = parse_bytes(*text);
            if (!bytes || *bytes < least || *bytes > most) return false;
            c.limits.*into = static_cast<uint32_t>(*bytes);
            return true;
          },
          [=](const config& c) { return toml_quoted(text_of_bytes(c.limits.*into)); }};
}

}  // namespace

const std::vector<config_setting>& config_settings() {
  static const std::vector<config_setting> rows{
      path("socket", &daemon_config::socket),
      path("control", &daemon_config::control),
      named(
          "executor", "kind", [](auto& c) -> auto& { return c.executor.kind; },
          executor_chain.names(), parse_executor),
      named(
          "executor", "strictness", [](auto& c) -> auto& { return c.executor.strictness; },
          "fallback, strict", parse_strictness),
      yes_or_no(
          "executor", "software_word_wait",
          [](auto& c) -> auto& { return c.executor.software_word_wait; }),
      time_span("software_spin", &executor_config::software_spin, software_step_max),
      time_span("software_sleep", &executor_config::software_sleep, software_step_max),
      yes_or_no(
          "latency", "cpu_dma_latency", [](auto& c) -> auto& { return c.latency.cpu_dma_latency; }),
      cpu(),
      scheduling(),
      limit("clients", &node_limits::clients),
      limit("clients_per_user", &node_limits::clients_per_user),
      limit("streams_per_client", &node_limits::streams_per_client),
      limit("streams_per_user", &node_limits::streams_per_user),
      limit("waits_per_client", &node_limits::waits_per_client),
      limit("waits_per_user", &node_limits::waits_per_user),
      ring_entries(),
      limit("pages_per_client", &node_limits::pages_per_client),
      limit("runtime_plans", &node_limits::runtime_plans),
      byte_limit("unread_bytes_per_client", &node_limits::unread_bytes_per_client,
                 unread_bytes_min),
      byte_limit("unread_bytes_per_user", &node_limits::unread_bytes_per_user, unread_bytes_min),
      limit("naive_workers", &node_limits::naive_workers),
      named(
          "log", "level", [](auto& c) -> auto& { return c.log_level; }, log_level_names,
          parse_log_level),
      metrics_listen(),
  };
  return rows;
}

std::string toml_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      quoted += fmt::format("\\{}", c);
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace gar
