#include "tests/proto/error_table.hpp"

#include <fmt/core.h>

#include <string_view>

#include "lib/core/error.hpp"

namespace gar::proto::test {
namespace {

constexpr std::string_view begin_mark = "<!-- errors: begin -->\n";
constexpr std::string_view end_mark = "<!-- errors: end -->";

}  // namespace

std::string error_table() {
  std::string table =
      "| number | name | kind | class | retry | exit | message | remedy |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const error_entry& row : error_registry()) {
    table += fmt::format("| {:#06x} | {} | {} | {} | {} | {} | {} | {} |\n",
                         static_cast<unsigned>(row.code), row.name, row.kind, row.class_,
                         row.retry ? "yes" : "no", row.exit_status, row.message, row.remedy);
  }
  return table;
}

std::string with_error_table(const std::string& document) {
  const size_t begin = document.find(begin_mark);
  const size_t end = document.find(end_mark);
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  return document.substr(0, begin + begin_mark.size()) + error_table() + document.substr(end);
}

}  // namespace gar::proto::test
