// Replay: what a plan would have done with waits that were recorded, on virtual time.
//
// Two ways to wait are best compared on the same waits. A series has one residual (completion -
// start of the wait) in ns to a line; it is played through the estimator as one readback point, and
// sleeps are exact:
//
//   no sleep           looked at to its end     costs its residual in CPU    exact sample
//   wakes in time      looked at from there on  costs residual - sleep       exact sample
//   wakes late         found done               costs no CPU, but delay of   late sample
//                                               sleep - residual
//
// A wake at the very end finds it done, so it is late, by nothing. Bands are those of 0 rows.
// `block` costs neither CPU nor delay here and gives no sample. Pure: no clock. Errors:
// InvalidArgument with the file and line; InvalidPlan.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/error.hpp"
#include "lib/core/plan.hpp"

namespace gar::bench {

struct replay_sums {
  uint64_t waits = 0;
  uint64_t exact = 0;
  uint64_t late = 0;
  uint64_t slept_ns = 0;
  uint64_t cpu_ns = 0;
  uint64_t delay_ns = 0;
};

// `name` is how errors call it. Every line is a number; the last one may lack its newline.
result<std::vector<uint64_t>> parse_series(std::string_view text, const std::string& name);

replay_sums replay(const std::vector<uint64_t>& residuals_ns, const plan& how);

}  // namespace gar::bench
