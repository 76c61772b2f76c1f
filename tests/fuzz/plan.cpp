// Plan and bands text: what parses says the same again when it is written and read back, what does
// not names a place in the text.
#include "lib/core/plan.hpp"

#include <string>

#include "clients/garctl/caret.hpp"
#include "lib/core/utf8.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

namespace gar::fuzz {
namespace {

void check_ranges(const plan& p) {
  if (p.park == park_kind::flag) {
    must(p.park_max >= from_us(1) && p.park_max <= from_us(10'000));
    must(p.backstop >= from_us(1) && p.backstop <= from_us(1'000'000));
  }
  if (!p.predict) return;
  must(p.park != park_kind::block);
  must(p.predict->window >= 1 && p.predict->window <= 16);
  must(p.predict->margin <= from_us(1'000'000));
  must(p.predict->min_sleep <= p.predict->max_sleep);
  must(p.predict->max_sleep <= from_us(10'000'000));
}

// The band of a row count, found the other way round.
size_t highest_edge_below(const bands& b, uint32_t rows) {
  for (size_t i = b.count(); i > 0; --i) {
    if (b.at(i - 1).from_rows <= rows) return i - 1;
  }
  broken("a row count has no band", __FILE__, __LINE__);
}

void check_parsed(const bands& parsed) {
  must(parsed.count() >= 1 && parsed.count() <= proto::bands_max);
  must(parsed.at(0).from_rows == 0);
  for (size_t i = 0; i < parsed.count(); ++i) {
    check_ranges(parsed.at(i).plan);
    const uint32_t edge = parsed.at(i).from_rows;
    must(i == 0 || edge > parsed.at(i - 1).from_rows);
    for (const uint32_t rows : {edge - 1, edge, edge + 1}) {
      must(parsed.select_index(rows) == highest_edge_below(parsed, rows));
    }
  }
  const std::string text = parsed.label();
  must(text.size() <= proto::plan_bytes_max);
  const result<bands> again = bands::parse(text);
  must(again && *again == parsed);
  must(again->label() == text);
}

}  // namespace
}  // namespace gar::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace gar;
  const std::string_view text(reinterpret_cast<const char*>(data), bytes);
  plan_fault fault;
  const std::optional<bands> parsed = bands::parse(text, fault);
  const result<bands> as_result = bands::parse(text);
  must(parsed.has_value() == as_result.has_value());
  if (parsed) {
    must(*parsed == *as_result);
    fuzz::check_parsed(*parsed);
  } else {
    must(as_result.error().code() == errc::InvalidPlan);
    must(fault.position <= text.size() && !fault.fault.empty());
    must(valid_plain_text(as_result.error().text()));
    caret_under(text, fault.position);
  }
  return 0;
}
