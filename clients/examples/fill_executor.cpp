// Three waits and sliced CPU work on one thread, with neither gard nor GPU.
//
// Three producers fill a row each and then store to the row's word, as a device would store behind
// its work. One thread waits for all three and sums up a table of its own meanwhile, in slices:
// between any two slices a row that is ready has its turn.
//
// Ends with status 0 only if every row was whole when its wait ended and the sum is right.
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <thread>
#include <vector>

#include "lib/linux/executor.hpp"

namespace {

constexpr size_t row_count = 3;
constexpr size_t row_items = 1 << 16;
constexpr uint64_t filled = 1;

// What a producer and the waiting thread share: the row, and the word that says it is whole.
struct row {
  std::vector<uint32_t> items = std::vector<uint32_t>(row_items);
  uint64_t word = 0;
  uint32_t value = 0;
};

void fill(row& r, gar::duration after) {
  const auto until = gar::steady_clock().now() + after;
  if (!gar::thread_timer().sleep_until(until)) return;
  for (uint32_t& item : r.items) item = r.value;
  gar::proto::store_word(r.word, filled);  // release: the row is visible before it
}

struct outcome {
  size_t rows_right = 0;
  size_t slices = 0;
  size_t slices_before_last_row = 0;
  uint64_t sum = 0;
};

gar::executor::task<> check_when_filled(gar::executor& ex, row& r, outcome& out) {
  co_await ex.wait(gar::memory_descriptor(r.word, filled));
  const uint64_t sum = std::accumulate(r.items.begin(), r.items.end(), uint64_t{0});
  if (sum == uint64_t{r.value} * row_items) ++out.rows_right;
  out.slices_before_last_row = out.slices;
}

gar::executor::task<> sum_in_slices(gar::executor& ex, const std::vector<uint32_t>& table,
                                    outcome& out) {
  constexpr size_t slice_items = 1 << 13;
  for (size_t at = 0; at < table.size(); at += slice_items) {
    for (size_t i = at; i < at + slice_items; ++i) out.sum += table[i];
    ++out.slices;
    co_await ex.yield_now();
  }
}

int check(const outcome& out, uint64_t expected_sum) {
  if (out.rows_right == row_count && out.sum == expected_sum) return 0;
  std::fprintf(stderr, "fill_executor: %zu of %zu rows right, sum %llu, expected %llu\n",
               out.rows_right, row_count, static_cast<unsigned long long>(out.sum),
               static_cast<unsigned long long>(expected_sum));
  return 1;
}

}  // namespace

int main() {
  std::vector<row> rows(row_count);
  std::vector<uint32_t> table(1 << 22);
  std::iota(table.begin(), table.end(), 0);
  const uint64_t items = table.size();
  outcome out;

  gar::executor ex;
  for (size_t i = 0; i < row_count; ++i) {
    rows[i].value = static_cast<uint32_t>(i + 1);
    ex.spawn(check_when_filled(ex, rows[i], out));
  }
  ex.spawn(sum_in_slices(ex, table, out));

  std::vector<std::thread> producers;
  for (size_t i = 0; i < row_count; ++i) {
    producers.emplace_back(fill, std::ref(rows[i]), gar::from_us(2000 * (i + 1)));
  }
  gar::result<gar::run_statistics> run = ex.run();
  for (std::thread& producer : producers) producer.join();
  if (!run) {
    std::fprintf(stderr, "fill_executor: %s\n", run.error().headline().c_str());
    return 1;
  }
  std::printf("%zu rows on one thread, %zu slices of work, %zu of them before the last row\n",
              out.rows_right, out.slices, out.slices_before_last_row);
  std::printf(
      "polls %llu, woken %llu, slept %llu, parked %llu, idle %llu us\n",
      static_cast<unsigned long long>(run->polls), static_cast<unsigned long long>(run->woken),
      static_cast<unsigned long long>(run->slept), static_cast<unsigned long long>(run->parked),
      static_cast<unsigned long long>(run->idle_ns / 1000));
  return check(out, items * (items - 1) / 2);
}
