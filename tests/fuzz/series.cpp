// Recorded waits for gar-bench: a series that parses says the same when it is written again, and is
// played through a plan without a sum that contradicts it.
#include <string>

#include "bench/replay.hpp"
#include "lib/core/utf8.hpp"
#include "tests/fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace gar;
  const std::string_view text(reinterpret_cast<const char*>(data), bytes);
  const result<std::vector<uint64_t>> series = bench::parse_series(text, "series");
  if (!series) {
    must(series.error().code() == errc::InvalidArgument);
    must(valid_plain_text(series.error().text()));
    return 0;
  }
  std::string written;
  for (const uint64_t residual : *series) written += std::to_string(residual) + '\n';
  const result<std::vector<uint64_t>> again = bench::parse_series(written, "series");
  must(again && *again == *series);
  for (const std::string_view how : {plan_as_shipped, std::string_view("poll")}) {
    const bench::replay_sums sums = bench::replay(*series, bands::parse(how)->at(0).plan);
    must(sums.waits == series->size());
    must(sums.exact + sums.late == sums.waits);
  }
  return 0;
}
