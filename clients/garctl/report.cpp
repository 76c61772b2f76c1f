#include "clients/garctl/report.hpp"

#include <fmt/core.h>

#include <boost/json/serialize.hpp>
#include <ctime>
#include <optional>
#include <utility>

#include "clients/garctl/gard_link.hpp"
#include "clients/garctl/replies.hpp"
#include "clients/garctl/report_page.hpp"
#include "lib/linux/output_file.hpp"

namespace gar {
namespace {

namespace json = boost::json;

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm at{};
  ::gmtime_r(&now, &at);
  return fmt::format("seen {:04}-{:02}-{:02} {:02}:{:02} UTC", at.tm_year + 1900, at.tm_mon + 1,
                     at.tm_mday, at.tm_hour, at.tm_min);
}

std::optional<error> write_page(output_file& file, const report_answers& answers) {
  file.text() << report_page(answers, now_text());
  return file.keep();
}

}  // namespace

int report(const command_line& line, terminal& with) {
  const result<gard_link> link = gard_link::make({.control = line.control, .socket = {}});
  if (!link) return print_usage_error(link.error(), with);
  const auto file = output_file::make(line.output);
  if (!file) return print_cannot_write(line.output, file.error(), with);
  report_answers answers;
  const std::pair<const char*, json::value*> questions[] = {{"figures", &answers.figures},
                                                            {"status", &answers.status},
                                                            {"clients", &answers.clients},
                                                            {"plan_show", &answers.plans}};
  for (const auto& [op, into] : questions) {
    reply got = link->ask(op);
    auto* answer = std::get_if<json::value>(&got);
    if (!answer) return print_failure(got, with);
    *into = std::move(*answer);
  }
  if (const auto wrong = write_page(**file, answers)) {
    return print_cannot_write(line.output, *wrong, with);
  }
  if (line.json) {
    with.out << json::serialize(json::object{{"file", line.output}}) << '\n';
  } else {
    with.out << line.output << " is the report; open it in a browser\n";
  }
  return status_fine;
}

}  // namespace gar
