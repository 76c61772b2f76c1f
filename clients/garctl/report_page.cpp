#include "clients/garctl/report_page.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string/replace.hpp>
#include <boost/json/array.hpp>
#include <optional>
#include <vector>

#include "clients/garctl/answer_fields.hpp"
#include "clients/garctl/histogram_chart.hpp"
#include "clients/garctl/html_text.hpp"
#include "clients/garctl/readable.hpp"
#include "clients/garctl/report_style.hpp"
#include "lib/core/error.hpp"

namespace gar {
namespace {

namespace json = boost::json;

constexpr std::array kind_names{"blocked", "immediate", "late", "parked"};
constexpr size_t clients_max = 30;

std::string shown(const json::value& from, std::string_view path) {
  return html_text(text_field(from, path));
}

std::vector<uint64_t> numbers(const json::value& from, std::string_view name) {
  std::vector<uint64_t> all;
  for (const json::value& each : list_field(from, name)) {
    json::error_code wrong;
    const auto number = each.to_number<uint64_t>(wrong);
    all.push_back(wrong ? 0 : number);
  }
  return all;
}

histogram_counts histogram_at(const json::value& figures, const json::value* at) {
  if (!at) return {};
  return {numbers(figures, "bounds_ns"), numbers(*at, "counts"), count_or_0(*at, "sum_ns")};
}

// A number and its unit, which stay together.
std::string seconds_text(double s) {
  const std::string plain = s <= 0 ? "0 s" : readable_ns(static_cast<uint64_t>(s * 1e9));
  return boost::algorithm::replace_all_copy(plain, " ", "&nbsp;");
}

std::string tile(std::string_view value, std::string_view what) {
  return fmt::format("<div class=\"tile\"><b>{}</b>{}</div>\n", value, what);
}

std::string tiles(const json::value& status) {
  const double waited = static_cast<double>(count_or_0(status, "waits.waited_ns")) / 1e9;
  const double cpu = static_cast<double>(count_or_0(status, "process.cpu_ms")) / 1e3;
  const double given = std::max(0.0, waited - cpu);
  const double part = waited > 0 ? 100 * given / waited : 0;
  std::string all = "<div class=\"tiles\">\n";
  all += tile(seconds_text(given),
              fmt::format("of CPU given back: spinning would have burned {}, gard took {} "
                          "({:.1f}&nbsp;% saved)",
                          seconds_text(waited), seconds_text(cpu), part));
  all += tile(count_text(status, "waits.completed"),
              "waits ended well; " + count_text(status, "waits.pending") + " are pending");
  all += tile(
      fmt::format("{} / {} / {}", count_text(status, "waits.failed"),
                  count_text(status, "waits.timed_out"), count_text(status, "waits.lost_store")),
      "waits failed, timed out, lost their store");
  all += tile(count_text(status, "clients"),
              "clients are connected, with " + count_text(status, "streams") + " streams");
  return all + "</div>\n";
}

// One row of coloured parts: how a plan's waits ended.
std::string kinds_bar(const json::value& kinds) {
  uint64_t all = 0;
  for (const char* name : kind_names) all += count_or_0(kinds, name);
  if (all == 0) return "";
  std::string svg = "<svg viewBox=\"0 0 640 22\" role=\"img\" aria-label=\"how waits ended\">";
  double left = 0;
  for (size_t i = 0; i < kind_names.size(); ++i) {
    const uint64_t count = count_or_0(kinds, kind_names[i]);
    const double wide = 640 * static_cast<double>(count) / static_cast<double>(all);
    svg += fmt::format(
        "<rect class=\"k{}\" x=\"{:.2f}\" y=\"0\" width=\"{:.2f}\" height=\"22\">"
        "<title>{}: {}</title></rect>",
        i, left, wide, kind_names[i], count);
    left += wide;
  }
  return svg + "</svg>\n";
}

std::string kinds_key() {
  std::string key = "<p class=\"key dim\">";
  for (size_t i = 0; i < kind_names.size(); ++i) {
    key += fmt::format("<span class=\"k{}\"></span>{}", i, kind_names[i]);
  }
  return key + "</p>\n";
}

// A plan's text as code that breaks between its parts, and elsewhere only where there is no room.
std::string plan_code(std::string_view text) {
  std::string code = "<code>";
  while (!text.empty()) {
    const size_t part = std::min(text.find_first_of(",+;"), text.size() - 1) + 1;
    code += html_text(text.substr(0, part));
    text.remove_prefix(part);
    if (!text.empty()) code += "<wbr>";
  }
  return code + "</code>";
}

std::string plan_name(const json::value& plan) {
  const auto label = optional_text_field(plan, "plan");
  return label ? plan_code(*label) : "all others";
}

std::string plan_row(const json::value& plan, const histogram_counts& waits) {
  const auto count = static_cast<double>(std::max<uint64_t>(1, waits.count()));
  const double slept = waits.sum_ns == 0 ? 0
                                         : 100 * static_cast<double>(count_or_0(plan, "slept_ns")) /
                                               static_cast<double>(waits.sum_ns);
  return fmt::format(
      "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.0f} %</td><td>{:.1f}</td>"
      "<td>{:.2f}</td></tr>\n",
      plan_name(plan), waits.count(), readable_ns(waits.quantile_ns(500)),
      readable_ns(waits.quantile_ns(990)), slept,
      static_cast<double>(count_or_0(plan, "parks")) / count,
      static_cast<double>(count_or_0(plan, "backstop_queries")) / count);
}

std::string plans_part(const json::value& figures) {
  std::string rows;
  std::string cards;
  for (const json::value& plan : list_field(figures, "plans")) {
    const histogram_counts waits = histogram_at(figures, field_at(plan, "waits"));
    if (waits.count() == 0) continue;
    rows += plan_row(plan, waits);
    const json::value* kinds = field_at(plan, "kinds");
    cards += "<div class=\"card\"><h3>" + plan_name(plan) + "</h3>\n" +
             (kinds ? kinds_bar(*kinds) : "") +
             histogram_chart(waits, "how long waits took under this plan") + "</div>\n";
  }
  if (rows.empty()) return "<h2>Plans compared</h2><p class=\"none\">No wait has ended yet.</p>\n";
  return "<h2>Plans compared</h2>\n<div class=\"wide\"><table><tr><th>plan</th><th>waits</th>"
         "<th>half took</th><th>99 % took</th><th>slept</th><th>parks a wait</th>"
         "<th>questions a wait</th></tr>\n" +
         rows + "</table></div>\n" + kinds_key() + "<div class=\"cards\">\n" + cards + "</div>\n";
}

std::string delays_part(const json::value& figures) {
  std::string part = "<h2>Delays</h2>\n<div class=\"cards\">\n";
  const auto card = [&](std::string_view title, const json::value* at) {
    const histogram_counts h = histogram_at(figures, at);
    part += fmt::format("<div class=\"card\"><h3>{}</h3>\n", title);
    if (h.count() > 0) {
      part +=
          fmt::format("<p class=\"dim\">half {}, 99 % {}, of {}</p>\n",
                      readable_ns(h.quantile_ns(500)), readable_ns(h.quantile_ns(990)), h.count());
    }
    part += histogram_chart(h, title) + "</div>\n";
  };
  card("From the look that saw a word to its client's wake (one look of 16)",
       field_at(figures, "told"));
  for (const char* kind : kind_names) {
    card(fmt::format("How long waits took that ended {}", kind),
         field_at(figures, fmt::format("kinds.{}", kind)));
  }
  return part + "</div>\n";
}

std::string warning_part(const json::value& warning) {
  const uint64_t code = count_or_0(warning, "code");
  const error_entry* entry = code <= 0xffff ? find_error(static_cast<uint16_t>(code)) : nullptr;
  return fmt::format("<div class=\"warning\"><b>{}</b>: {}{}</div>\n", shown(warning, "name"),
                     shown(warning, "text"),
                     entry ? "<p>To do: " + html_text(entry->remedy) + "</p>" : "");
}

std::string warnings_part(const report_answers& from) {
  std::string all;
  if (const json::value* one = field_at(from.status, "executor.warning")) {
    if (one->is_object()) all += warning_part(*one);
  }
  for (const json::value& plan : list_field(from.plans, "plans")) {
    for (const json::value& w : list_field(plan, "warnings")) all += warning_part(w);
  }
  if (const json::value* thread = field_at(from.status, "latency.thread")) {
    for (const json::value& w : list_field(*thread, "warnings")) all += warning_part(w);
  }
  if (all.empty()) all = "<p class=\"none\">Everything runs as it was asked to.</p>\n";
  return "<h2>Warnings</h2>\n" + all;
}

std::string clients_part(const json::value& clients) {
  std::vector<const json::value*> all;
  for (const json::value& each : list_field(clients, "clients")) all.push_back(&each);
  std::stable_sort(all.begin(), all.end(), [](const json::value* a, const json::value* b) {
    return count_or_0(*a, "waited_ns") > count_or_0(*b, "waited_ns");
  });
  if (all.empty()) return "";
  std::string rows;
  for (size_t i = 0; i < std::min(all.size(), clients_max); ++i) {
    const json::value& c = *all[i];
    rows += fmt::format("<tr><td>{} ({})</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                        shown(c, "name"), count_text(c, "id"), count_text(c, "completed"),
                        count_text(c, "failed"), count_text(c, "pending"),
                        readable_ns(count_or_0(c, "waited_ns")));
  }
  std::string more;
  if (all.size() > clients_max) {
    more = fmt::format("<p class=\"dim\">{} more are not shown.</p>\n", all.size() - clients_max);
  }
  return "<h2>Clients</h2>\n<div class=\"wide\"><table><tr><th>client</th><th>waits</th>"
         "<th>failed</th><th>pending</th><th>a spin would have burned</th></tr>\n" +
         rows + "</table></div>\n" + more;
}

}  // namespace

std::string report_page(const report_answers& from, std::string_view made_at) {
  std::string page =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>gard: what it did for this node</title>\n<style>" +
      std::string(report_style) + "</style>\n</head>\n<body>\n";
  page += fmt::format(
      "<h1>gard on this node</h1>\n<p class=\"dim\">Version {}, up {}, {}. Executor {}, word wait "
      "{}. Default plan {}.</p>\n",
      shown(from.status, "version"), readable_ns(count_or_0(from.status, "uptime_ms") * 1'000'000),
      html_text(made_at), shown(from.status, "executor.running"),
      shown(from.status, "word_wait.kind"), plan_code(text_field(from.status, "plan.running")));
  page += tiles(from.status);
  page += warnings_part(from);
  page += plans_part(from.figures);
  page += delays_part(from.figures);
  page += clients_part(from.clients);
  return page + "</body>\n</html>\n";
}

}  // namespace gar
