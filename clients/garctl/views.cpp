#include "clients/garctl/views.hpp"

#include <fmt/core.h>

#include <boost/json/array.hpp>

#include "clients/garctl/answer_fields.hpp"
#include "clients/garctl/readable.hpp"
#include "clients/garctl/table.hpp"
#include "lib/core/error.hpp"

namespace gar {
namespace {

namespace json = boost::json;

constexpr size_t name_columns = 12;
constexpr uint64_t ms_ns = 1'000'000;

// "executor    gpu-reactor, ..."
std::string named_line(std::string_view name, std::string_view text, const paint& colours) {
  const std::string pad(name_columns - name.size(), ' ');
  return colours.bold(name) + pad + std::string(text) + '\n';
}

std::string ms_text(const json::value& from, std::string_view path) {
  const auto ms = count_field(from, path);
  return ms ? readable_ns(*ms * ms_ns) : "?";
}

// What runs, and on a line of its own what was asked for, where that is something else.
std::string against_request(const json::value& from, std::string_view what) {
  const std::string requested = text_field(from, std::string(what) + ".requested");
  const std::string running = text_field(from, std::string(what) + ".running");
  if (requested == running) return running + ", as requested";
  return running + '\n' + std::string(name_columns, ' ') + "requested: " + requested;
}

std::string warnings_of(const json::array& list, const paint& colours) {
  std::string lines;
  for (const json::value& warning : list) lines += warning_lines(warning, name_columns, colours);
  return lines;
}

std::string executor_lines(const json::value& status, const paint& colours) {
  std::string lines = named_line("executor", against_request(status, "executor"), colours);
  lines += named_line("", "strictness: " + text_field(status, "executor.strictness"), colours);
  if (const json::value* warning = field_at(status, "executor.warning")) {
    lines += warning_lines(*warning, name_columns, colours);
  }
  return lines;
}

std::string word_wait_line(const json::value& status, const paint& colours) {
  const bool hardware = flag_field(status, "word_wait.hardware");
  std::string text = text_field(status, "word_wait.kind");
  if (text != "none") text += hardware ? ", in hardware" : ", no hardware";
  const auto why = optional_text_field(status, "word_wait.why");
  if (why && !why->empty()) text += ": " + *why;
  return named_line("word wait", text, colours);
}

std::string latency_lines(const json::value& status, const paint& colours) {
  const auto cpu = count_field(status, "latency.thread.cpu");
  std::string lines =
      named_line("latency",
                 fmt::format("executor's thread on {}, scheduling {}",
                             cpu ? fmt::format("CPU {}", *cpu) : std::string("any CPU"),
                             text_field(status, "latency.thread.scheduling")),
                 colours);
  if (const json::value* thread = field_at(status, "latency.thread")) {
    lines += warnings_of(list_field(*thread, "warnings"), colours);
  }
  std::string held = "CPUs may sleep deeply: cpu_dma_latency is off";
  if (const auto refused = optional_text_field(status, "latency.cpu_dma_latency.refused")) {
    held = "cpu_dma_latency refused: " + *refused;
  } else if (flag_field(status, "latency.cpu_dma_latency.requested")) {
    held = fmt::format("CPUs {}, {} changes",
                       flag_field(status, "latency.cpu_dma_latency.held")
                           ? "held out of deep sleep"
                           : "may sleep deeply: no wait is due",
                       count_text(status, "latency.cpu_dma_latency.changes"));
  }
  lines += named_line("", held, colours);
  return lines + named_line("",
                            fmt::format("sleeps end {} us late: no margin is less",
                                        count_text(status, "margin_floor_us")),
                            colours);
}

std::string plan_lines(const json::value& status, const paint& colours) {
  std::string lines = named_line("plan", against_request(status, "plan"), colours);
  lines += named_line("", "generation: " + count_text(status, "plan.generation"), colours);
  const json::value* plan = field_at(status, "plan");
  return plan ? lines + warnings_of(list_field(*plan, "warnings"), colours) : lines;
}

// "pending 3  completed 9": the counts of one group, by their keys.
std::string counts_line(const json::value& status, std::string_view group, std::string_view name,
                        std::initializer_list<std::string_view> keys, const paint& colours) {
  std::string text;
  for (std::string_view key : keys) {
    std::string shown(key);
    for (char& c : shown) {
      if (c == '_') c = ' ';
    }
    if (!text.empty()) text += ", ";
    text += shown + ' ' + count_text(status, fmt::format("{}.{}", group, key));
  }
  return named_line(name, text, colours);
}

std::string oldest_pending(const json::value& from, std::string_view path) {
  const auto ms = count_field(from, path);
  if (!ms) return "?";
  return *ms == 0 ? "-" : readable_ns(*ms * ms_ns);
}

std::string counters(const json::value& status, const paint& colours) {
  std::string lines = counts_line(
      status, "waits", "waits",
      {"pending", "completed", "failed", "cancelled", "timed_out", "owner_gone", "early_word"},
      colours);
  lines += named_line("", "oldest pending " + oldest_pending(status, "waits.oldest_pending_ms"),
                      colours);
  lines +=
      counts_line(status, "kinds", "kinds", {"blocked", "immediate", "late", "parked"}, colours);
  lines += counts_line(status, "reactor", "reactor",
                       {"polls", "woken", "slept", "parked", "backstop_probes"}, colours);
  const auto idle = count_field(status, "reactor.idle_ns");
  lines += named_line("", "idle " + (idle ? readable_ns(*idle) : "?"), colours);
  const auto rss = count_field(status, "process.rss_kib");
  lines += named_line("process",
                      fmt::format("CPU {}, memory {}", ms_text(status, "process.cpu_ms"),
                                  rss ? readable_kib(*rss) : "?"),
                      colours);
  return lines;
}

// An empty table says so instead of showing a lonely head.
std::string page_of(const table& rows, std::string_view none, const paint& colours) {
  return rows.empty() ? std::string(none) + '\n' : rows.text(colours);
}

// [{name, available, why}]
std::string availability_table(const json::value& from, std::string_view list,
                               const std::string& what, const paint& colours) {
  table rows({what, "here", "why"});
  for (const json::value& each : list_field(from, list)) {
    const bool available = flag_field(each, "available");
    rows.add({text_field(each, "name"), available ? colours.green("yes") : colours.yellow("no"),
              text_field(each, "why")});
  }
  return page_of(rows, "No " + what + " is known.", colours);
}

std::string scope_text(const json::value& from) {
  const auto client = optional_text_field(from, "client");
  const auto point = optional_text_field(from, "point");
  if (client && point) return "client " + *client + " at point " + *point;
  if (client) return "client " + *client;
  if (point) return "point " + *point;
  return "default";
}

std::string point_name(const json::value& from) {
  if (const auto point = optional_text_field(from, "point")) return *point;
  return "(stream " + count_text(from, "stream") + ")";
}

}  // namespace

std::string warning_lines(const json::value& warning, size_t indent, const paint& colours) {
  if (!warning.is_object()) return {};
  const uint64_t code = count_or_0(warning, "code");
  const std::string pad(indent, ' ');
  std::string lines = pad +
                      colours.yellow(fmt::format("{:#06x} {}", code, text_field(warning, "name"))) +
                      ": " + text_field(warning, "text") + '\n';
  const error_entry* entry = code <= 0xffff ? find_error(static_cast<uint16_t>(code)) : nullptr;
  if (entry) lines += pad + "to do: " + std::string(entry->remedy) + '\n';
  return lines;
}

std::string status_page(const json::value& status, const paint& colours) {
  std::string page =
      named_line("gard",
                 fmt::format("{}, pid {}, up {}", text_field(status, "version"),
                             count_text(status, "pid"), ms_text(status, "uptime_ms")),
                 colours);
  page += executor_lines(status, colours);
  page += word_wait_line(status, colours);
  page += latency_lines(status, colours);
  page += plan_lines(status, colours);
  page += named_line("clients",
                     fmt::format("{} connected, {} streams open", count_text(status, "clients"),
                                 count_text(status, "streams")),
                     colours);
  page += counters(status, colours);
  return page + '\n' + availability_table(status, "capabilities", "capability", colours);
}

std::string metrics_page(const json::value& metrics, const paint&) {
  const json::value* text = field_at(metrics, "text");
  return text && text->is_string() ? std::string(text->get_string()) : std::string();
}

std::string version_page(const json::value& version, const paint&) {
  return "gard " + text_field(version, "version") + '\n';
}

std::string change_page(const json::value& changed, const paint& colours) {
  std::string page = "generation " + count_text(changed, "generation") + '\n';
  if (const auto running = optional_text_field(changed, "running")) {
    page += "running " + *running + '\n';
  }
  for (const json::value& warning : list_field(changed, "warnings")) {
    page += warning_lines(warning, 0, colours);
  }
  return page;
}

std::string caps_page(const json::value& caps, const paint& colours) {
  std::string page = word_wait_line(caps, colours) + '\n';
  page += availability_table(caps, "capabilities", "capability", colours) + '\n';
  return page + availability_table(caps, "drivers", "driver", colours);
}

std::string clients_page(const json::value& clients, const paint& colours) {
  table rows({">id", "name", ">uid", ">pid", ">connected", ">streams", ">pending", ">completed",
              ">failed", ">oldest"});
  for (const json::value& each : list_field(clients, "clients")) {
    rows.add({count_text(each, "id"), text_field(each, "name"), count_text(each, "uid"),
              count_text(each, "pid"), ms_text(each, "connected_ms"), count_text(each, "streams"),
              count_text(each, "pending"), count_text(each, "completed"),
              count_text(each, "failed"), oldest_pending(each, "oldest_pending_ms")});
  }
  return page_of(rows, "No client is connected.", colours);
}

std::string streams_page(const json::value& streams, const paint& colours) {
  table rows({">client", "name", ">stream", "stream name", "authority", ">word", ">pending",
              ">completed", ">oldest"});
  for (const json::value& each : list_field(streams, "streams")) {
    rows.add({count_text(each, "client_id"), text_field(each, "client"), count_text(each, "stream"),
              text_field(each, "name"), text_field(each, "authority"), count_text(each, "word"),
              count_text(each, "pending"), count_text(each, "completed"),
              oldest_pending(each, "oldest_pending_ms")});
  }
  return page_of(rows, "No stream is open.", colours);
}

std::string points_page(const json::value& points, const paint& colours) {
  table rows({">client", "name", "point", ">predicted", ">samples", ">waits", ">blocked",
              ">immediate", ">late", ">parked"});
  for (const json::value& each : list_field(points, "points")) {
    const auto predicted = count_field(each, "predicted_ns");
    rows.add({count_text(each, "client_id"), text_field(each, "client"), point_name(each),
              predicted ? readable_ns(*predicted) : "-", count_text(each, "samples"),
              count_text(each, "waits"), count_text(each, "kinds.blocked"),
              count_text(each, "kinds.immediate"), count_text(each, "kinds.late"),
              count_text(each, "kinds.parked")});
  }
  return page_of(rows, "No point has been waited at.", colours);
}

std::string plans_page(const json::value& plans, const paint& colours) {
  std::string page = "generation " + count_text(plans, "generation") + '\n';
  for (const json::value& each : list_field(plans, "plans")) {
    const std::string requested = text_field(each, "requested");
    const std::string running = text_field(each, "running");
    page += colours.bold(scope_text(each)) + " (" + text_field(each, "source") + ")\n";
    page += "  " + running + '\n';
    if (requested != running) page += "  requested: " + requested + '\n';
    for (const json::value& warning : list_field(each, "warnings")) {
      page += warning_lines(warning, 2, colours);
    }
  }
  return page;
}

}  // namespace gar
