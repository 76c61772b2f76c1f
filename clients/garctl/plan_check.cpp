#include "clients/garctl/plan_check.hpp"

#include <fmt/core.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <istream>
#include <ostream>
#include <streambuf>

#include "clients/garctl/table.hpp"
#include "proto/limits.hpp"

namespace gar {
namespace {

// One line into `text`, of which no more is kept than says that it is too long. false: no line.
bool read_line(std::istream& in, std::string& text) {
  text.clear();
  std::streambuf& from = *in.rdbuf();
  constexpr int end = std::char_traits<char>::eof();
  int c = from.sbumpc();
  if (c == end) return false;
  for (; c != end && c != '\n'; c = from.sbumpc()) {
    if (text.size() <= proto::plan_bytes_max) text += static_cast<char>(c);
  }
  return true;
}

template <class Answer>
line_counts for_each_line(std::istream& in, Answer answer) {
  line_counts counts;
  std::string text;
  while (read_line(in, text)) {
    const plan_verdict verdict = check_plan(text);
    ++counts.texts;
    if (!verdict.valid()) ++counts.invalid;
    answer(counts.texts, verdict);
  }
  return counts;
}

std::string sentence_of(const plan_fault& fault) {
  const error wrong(errc::InvalidPlan);
  return fmt::format("{:#06x} {} at byte {}: {}", wrong.number(), wrong.name(), fault.position,
                     fault.fault);
}

}  // namespace

plan_verdict check_plan(std::string_view text) {
  plan_verdict verdict;
  verdict.parsed = bands::parse(text, verdict.fault);
  return verdict;
}

boost::json::object to_json(const plan_verdict& verdict) {
  if (!verdict.valid()) {
    return {{"valid", false},
            {"code", static_cast<uint16_t>(errc::InvalidPlan)},
            {"name", error(errc::InvalidPlan).name()},
            {"position", verdict.fault.position},
            {"fault", verdict.fault.fault}};
  }
  boost::json::array shown;
  for (size_t i = 0; i < verdict.parsed->count(); ++i) {
    const bands::band& band = verdict.parsed->at(i);
    shown.push_back({{"from_rows", band.from_rows}, {"label", band.plan.label()}});
  }
  return {{"valid", true}, {"label", verdict.parsed->label()}, {"bands", std::move(shown)}};
}

line_counts check_plan_lines_json(std::istream& in, std::ostream& out) {
  return for_each_line(in, [&out](size_t, const plan_verdict& verdict) {
    // Whoever feeds a pipe line by line waits for each answer.
    out << boost::json::serialize(to_json(verdict)) << '\n' << std::flush;
  });
}

line_counts check_plan_lines(std::istream& in, std::ostream& out) {
  return for_each_line(in, [&out](size_t number, const plan_verdict& verdict) {
    out << number << ": "
        << (verdict.valid() ? "valid: " + verdict.parsed->label() : sentence_of(verdict.fault))
        << '\n'
        << std::flush;
  });
}

std::string plan_page(const bands& plans, const paint& colours) {
  std::string page = plans.label() + '\n';
  if (plans.count() == 1) return page;
  table rows({">from rows", "plan"});
  for (size_t i = 0; i < plans.count(); ++i) {
    rows.add({std::to_string(plans.at(i).from_rows), plans.at(i).plan.label()});
  }
  return page + rows.text(colours);
}

}  // namespace gar
