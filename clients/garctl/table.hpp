// Aligned tables: each column as wide as its widest cell, two blanks between.
//
// Model: the first row is the head. A column whose head starts with '>' is aligned to the right (a
// column of numbers); the mark is not shown. Threads: a value. Allocation: the text.
#pragma once

#include <string>
#include <vector>

#include "clients/garctl/paint.hpp"

namespace gar {

class table {
 public:
  explicit table(std::vector<std::string> head);

  // A row shorter than the head is filled with empty cells; longer is our bug.
  void add(std::vector<std::string> row);
  bool empty() const { return rows_.empty(); }
  // Ends in a newline; no blanks at the ends of lines.
  std::string text(const paint& colours) const;

 private:
  std::vector<std::string> head_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace gar
