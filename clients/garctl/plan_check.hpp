// Checking a plan's text without a gard: is it one, what would it be called, where is it wrong.
//
// Model: the text goes through the core's own parser, the one that gard and the client library use,
// so an answer here is their answer. Threads: pure. Allocation: texts.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "clients/garctl/paint.hpp"
#include "lib/core/plan.hpp"

namespace gar {

struct plan_verdict {
  std::optional<bands> parsed;
  plan_fault fault;  // where `parsed` is empty

  bool valid() const { return parsed.has_value(); }
};

plan_verdict check_plan(std::string_view text);

// {valid, label, bands} or {valid, code, name, position, fault}
boost::json::object to_json(const plan_verdict& verdict);

// How many texts were read, and how many of them were no plan.
struct line_counts {
  size_t texts = 0;
  size_t invalid = 0;
};

// Answers each line of `in` by a line of `out`. A last line without its newline counts, and an
// empty line is an empty text. A line of any length takes little memory: its end alone is looked
// for once it is longer than any plan.
line_counts check_plan_lines_json(std::istream& in, std::ostream& out);
// As sentences: "3: valid: block", "4: 0x0001 InvalidPlan at byte 0: ...".
line_counts check_plan_lines(std::istream& in, std::ostream& out);

// The label, and each band with the rows that it is for.
std::string plan_page(const bands& plans, const paint& colours);

}  // namespace gar
