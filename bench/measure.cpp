#include "bench/measure.hpp"

#include <algorithm>

#include "lib/linux/steady_clock.hpp"

namespace gar::bench {
namespace {

uint64_t quantile(const std::vector<uint64_t>& sorted, double q) {
  const size_t index = static_cast<size_t>(q * static_cast<double>(sorted.size() - 1));
  return sorted[index];
}

}  // namespace

uint64_t now_ns() {
  return steady_clock().now().ns;
}

distribution distribution_of(std::vector<uint64_t>& samples_ns) {
  distribution d;
  if (samples_ns.empty()) return d;
  std::sort(samples_ns.begin(), samples_ns.end());
  d.min_ns = samples_ns.front();
  d.max_ns = samples_ns.back();
  d.p50_ns = quantile(samples_ns, 0.5);
  d.p99_ns = quantile(samples_ns, 0.99);
  d.p999_ns = quantile(samples_ns, 0.999);
  const double box = static_cast<double>(quantile(samples_ns, 0.75) - quantile(samples_ns, 0.25));
  d.spread = d.p50_ns ? box / static_cast<double>(d.p50_ns) : 0;
  return d;
}

target make_target(std::string name, double value, double limit, bool at_most) {
  target t;
  t.name = std::move(name);
  t.value = value;
  t.limit = limit;
  t.at_most = at_most;
  t.holds = at_most ? value <= limit : value >= limit;
  return t;
}

}  // namespace gar::bench
