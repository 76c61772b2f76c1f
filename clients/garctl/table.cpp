#include "clients/garctl/table.hpp"

#include <algorithm>

#include "clients/garctl/readable.hpp"
#include "lib/core/error.hpp"

namespace gar {
namespace {

constexpr size_t gap_columns = 2;

}  // namespace

table::table(std::vector<std::string> head) : head_(std::move(head)) {
  for (std::string& cell : head_) {
    right_.push_back(cell.starts_with('>'));
    if (right_.back()) cell.erase(0, 1);
  }
}

void table::add(std::vector<std::string> row) {
  GAR_ASSERT(row.size() <= head_.size());
  row.resize(head_.size());
  rows_.push_back(std::move(row));
}

std::string table::text(const paint& colours) const {
  std::vector<size_t> widths;
  for (const std::string& cell : head_) widths.push_back(columns_of(cell));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
  }
  const auto line_of = [&](const std::vector<std::string>& row) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - columns_of(row[i]), ' ');
      line += right_[i] ? pad + row[i] : row[i] + pad;
      line.append(gap_columns, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
  };
  std::string text = colours.bold(line_of(head_)) + '\n';
  for (const auto& row : rows_) text += line_of(row) + '\n';
  return text;
}

}  // namespace gar
