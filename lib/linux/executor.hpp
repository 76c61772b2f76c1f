// gar::executor: waits and CPU work on one thread, over this machine's clock and words.
//
//   gar::executor ex;
//   ex.spawn(copy_when_filled(ex, word));     // co_await ex.wait({word, 1});
//   ex.spawn(checksum_in_slices(ex, rows));   // co_await ex.yield_now();
//   gar::result<gar::run_statistics> run = ex.run();
//
// lib/core/executor.hpp says everything about it. Link gar::executor.
#pragma once

#include "lib/core/executor.hpp"
#include "lib/linux/idle_words.hpp"
#include "lib/linux/steady_clock.hpp"

namespace gar {

using executor = basic_executor<steady_clock, idle_words>;

}  // namespace gar
