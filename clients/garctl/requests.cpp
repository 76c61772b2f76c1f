#include "clients/garctl/requests.hpp"

#include <fmt/core.h>

#include <boost/json/serialize.hpp>
#include <ostream>

#include "clients/garctl/answer_fields.hpp"
#include "clients/garctl/doctor.hpp"
#include "clients/garctl/gard_link.hpp"
#include "clients/garctl/host_capabilities.hpp"
#include "clients/garctl/plan_check.hpp"
#include "clients/garctl/readable.hpp"
#include "clients/garctl/replies.hpp"
#include "clients/garctl/report.hpp"
#include "clients/garctl/top.hpp"
#include "clients/garctl/trace.hpp"
#include "clients/garctl/views.hpp"
#include "clients/garctl/watch.hpp"
#include "lib/core/codec.hpp"
#include "lib/core/printable.hpp"
#include "lib/core/utf8.hpp"

namespace gar {
namespace {

namespace json = boost::json;

using page_maker = std::string (*)(const json::value&, const paint&);

void print_result(const command_line& line, const json::value& result, page_maker page,
                  terminal& with) {
  if (line.json) {
    with.out << json::serialize(result) << '\n';
  } else {
    with.out << page(result, with.out_paint);
  }
}

int print_reply(const command_line& line, const reply& got, page_maker page, terminal& with) {
  if (const auto* refused = std::get_if<refusal>(&got))
    return print_refusal(*refused, line.plan_text, with);
  if (const auto* failed = std::get_if<unreachable>(&got)) return print_unreachable(*failed, with);
  print_result(line, std::get<json::value>(got), page, with);
  return status_fine;
}

result<gard_link> link_of(const command_line& line) {
  return gard_link::make({.control = line.control, .socket = {}});
}

int ask(const command_line& line, std::string_view op, page_maker page, terminal& with) {
  const result<gard_link> link = link_of(line);
  if (!link) return print_usage_error(link.error(), with);
  return print_reply(line, link->ask(op), page, with);
}

// Changes have one way in: gard takes only questions on the clients' socket.
int change(const command_line& line, const json::object& request, terminal& with) {
  const result<gard_link> link = link_of(line);
  if (!link) return print_usage_error(link.error(), with);
  const reply got = link->change(request);
  const int status = print_reply(line, got, change_page, with);
  if (status == status_not_reachable) with.err << "changes are taken on the control socket only\n";
  return status;
}

// ---- version, caps ------------------------------------------------------------------------------

int show_version(const command_line& line, terminal& with) {
  const result<gard_link> link = link_of(line);
  if (!link) return print_usage_error(link.error(), with);
  const reply got = link->ask("version");
  if (!line.json) with.out << "garctl " << GAR_VERSION << '\n';
  return print_reply(line, got, version_page, with);
}

// What gard sees, where there is one: it may be confined otherwise than this process. The drivers
// are always this process's.
int show_capabilities(const command_line& line, terminal& with) {
  const result<gard_link> link = link_of(line);
  if (!link) return print_usage_error(link.error(), with);
  const reply got = link->ask("caps");
  const auto* answer = std::get_if<json::value>(&got);
  const bool by_gard = answer && answer->is_object();
  json::object found = by_gard ? answer->get_object() : probed_capabilities();
  found["drivers"] = probed_drivers();
  if (!line.json) {
    with.out << (by_gard ? "As gard sees this host, and garctl the drivers:\n\n"
                         : "As garctl sees this host; no gard was asked:\n\n");
  }
  print_result(line, found, caps_page, with);
  return status_fine;
}

// Text for a program already: nothing in it is made readable.
int show_metrics(const command_line& line, terminal& with) {
  const result<gard_link> link = link_of(line);
  if (!link) return print_usage_error(link.error(), with);
  const auto dialect = line.prometheus ? "prometheus" : "open_metrics";
  const reply got = link->ask(json::object{{"op", "metrics"}, {"dialect", dialect}});
  return print_reply(line, got, metrics_page, with);
}

// ---- plans --------------------------------------------------------------------------------------

int check_lines(const command_line& line, terminal& with) {
  const line_counts counts =
      line.json ? check_plan_lines_json(with.in, with.out) : check_plan_lines(with.in, with.out);
  if (counts.invalid == 0) return status_fine;
  const error wrong(errc::InvalidPlan);
  with.err << headline_of(wrong.number(), wrong.name(), with.err_paint)
           << fmt::format(": {} of {} texts are no plan\n", counts.invalid, counts.texts);
  return status_refused;
}

int check_text(const command_line& line, terminal& with) {
  const plan_verdict verdict = check_plan(line.plan_text);
  if (line.json) with.out << json::serialize(to_json(verdict)) << '\n';
  if (!verdict.valid()) return print_plan_fault(line.plan_text, verdict.fault, with);
  if (!line.json) with.out << plan_page(*verdict.parsed, with.out_paint);
  return status_fine;
}

std::optional<error> check_name(std::string_view option, const std::optional<std::string>& name) {
  if (!name || proto::valid_name(*name)) return std::nullopt;
  return error(errc::InvalidArgument,
               {std::string(option), "'" + printable(*name, 80) +
                                         "' is no name; expected 1 to 63 bytes of UTF-8 without "
                                         "control characters"});
}

// A request is JSON, which holds only UTF-8, and fits in one line: what no version of gard would
// take as a plan is refused here.
bool can_be_sent(std::string_view plan_text) {
  return plan_text.size() <= proto::plan_bytes_max && valid_utf8(plan_text);
}

int change_plan(const command_line& line, json::object request, terminal& with) {
  for (const auto& wrong :
       {check_name("--client", line.client), check_name("--point", line.point)}) {
    if (wrong) return print_usage_error(*wrong, with);
  }
  if (line.client) request["client"] = *line.client;
  if (line.point) request["point"] = *line.point;
  return change(line, request, with);
}

// A plan may be set before its client comes, and a name may be mistyped.
void say_who_is_missing(const command_line& line, const std::string& client, terminal& with) {
  const result<gard_link> link = link_of(line);
  if (!link) return;
  const reply got = link->ask("clients");
  const auto* answer = std::get_if<json::value>(&got);
  if (!answer || !answer->is_array()) return;
  for (const json::value& each : answer->get_array()) {
    if (text_field(each, "name") == client) return;
  }
  with.err << fmt::format("no client of the name '{}' is connected now\n", printable(client, 80));
}

int set_plan(const command_line& line, terminal& with) {
  if (!can_be_sent(line.plan_text)) {
    const plan_verdict verdict = check_plan(line.plan_text);
    if (!verdict.valid()) return print_plan_fault(line.plan_text, verdict.fault, with);
  }
  const int status = change_plan(line, {{"op", "plan_set"}, {"text", line.plan_text}}, with);
  if (status == status_fine && line.client && !line.json) {
    say_who_is_missing(line, *line.client, with);
  }
  return status;
}

int reload(const command_line& line, terminal& with) {
  return change(line, {{"op", "reload"}, {"replace", line.replace}}, with);
}

}  // namespace

int run_request(const command_line& line, terminal& with) {
  switch (line.asked) {
    case verb::status:
      return ask(line, "status", status_page, with);
    case verb::caps:
      return show_capabilities(line, with);
    case verb::clients:
      return ask(line, "clients", clients_page, with);
    case verb::streams:
      return ask(line, "streams", streams_page, with);
    case verb::points:
      return ask(line, "points", points_page, with);
    case verb::version:
      return show_version(line, with);
    case verb::metrics:
      return show_metrics(line, with);
    case verb::top:
      return top(line, with);
    case verb::watch:
      return watch(line, with);
    case verb::trace:
      return trace(line, with);
    case verb::report:
      return report(line, with);
    case verb::doctor:
      return doctor(line, with);
    case verb::plan_show:
      return ask(line, "plan_show", plans_page, with);
    case verb::plan_check:
      return line.plan_text == "-" ? check_lines(line, with) : check_text(line, with);
    case verb::plan_set:
      return set_plan(line, with);
    case verb::plan_unset:
      return change_plan(line, {{"op", "plan_unset"}}, with);
    case verb::reload:
      return reload(line, with);
  }
  return status_usage;
}

}  // namespace gar
