#include "bench/measure.hpp"

#include <algorithm>

#include "lib/linux/steady_clock.hpp"

namespace gar::bench {
namespace {

uint64_t sorted_quantile(const std::vector<uint64_t>& sorted, double q) {
  if (sorted.empty()) return 0;
  return sorted[static_cast<size_t>(q * static_cast<double>(sorted.size() - 1))];
}

}  // namespace

uint64_t now_ns() {
  return steady_clock().now().ns;
}

uint64_t quantile(std::vector<uint64_t> of, double q) {
  std::sort(of.begin(), of.end());
  return sorted_quantile(of, q);
}

double median(std::vector<double> of) {
  if (of.empty()) return 0;
  std::sort(of.begin(), of.end());
  const size_t middle = of.size() / 2;
  return of.size() % 2 ? of[middle] : (of[middle - 1] + of[middle]) / 2;
}

distribution samples::all() const {
  std::vector<uint64_t> every, medians;
  for (const std::vector<uint64_t>& round : rounds_) {
    if (round.empty()) continue;
    every.insert(every.end(), round.begin(), round.end());
    medians.push_back(quantile(round, 0.5));
  }
  distribution d;
  if (every.empty()) return d;
  std::sort(every.begin(), every.end());
  std::sort(medians.begin(), medians.end());
  d.min_ns = every.front();
  d.max_ns = every.back();
  d.p50_ns = sorted_quantile(every, 0.5);
  d.p99_ns = sorted_quantile(every, 0.99);
  d.p999_ns = sorted_quantile(every, 0.999);
  const uint64_t box = sorted_quantile(medians, 0.75) - sorted_quantile(medians, 0.25);
  const uint64_t middle = sorted_quantile(medians, 0.5);
  d.spread = middle ? static_cast<double>(box) / static_cast<double>(middle) : 0;
  return d;
}

double ratio(const samples& of, const samples& over, double q) {
  std::vector<double> ratios;
  const size_t rounds = std::min(of.rounds().size(), over.rounds().size());
  for (size_t i = 0; i < rounds; ++i) {
    const uint64_t below = quantile(over.rounds()[i], q);
    if (below == 0) continue;
    ratios.push_back(static_cast<double>(quantile(of.rounds()[i], q)) / static_cast<double>(below));
  }
  return median(std::move(ratios));
}

double difference_ns(const samples& of, const samples& less) {
  std::vector<double> differences;
  const size_t rounds = std::min(of.rounds().size(), less.rounds().size());
  for (size_t i = 0; i < rounds; ++i) {
    differences.push_back(static_cast<double>(quantile(of.rounds()[i], 0.5)) -
                          static_cast<double>(quantile(less.rounds()[i], 0.5)));
  }
  return median(std::move(differences));
}

}  // namespace gar::bench
