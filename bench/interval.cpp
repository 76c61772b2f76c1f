#include "bench/interval.hpp"

#include <array>
#include <cmath>

namespace gar::bench {
namespace {

constexpr double normal_95 = 1.959964;
// From the tables; beyond them the expansion in 1/degrees is right to a thousandth.
constexpr std::array<double, 10> exact = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706,
                                          2.4469,  2.3646, 2.3060, 2.2622, 2.2281};

}  // namespace

double student_t_95(int degrees) {
  if (degrees <= static_cast<int>(exact.size())) return exact[static_cast<size_t>(degrees) - 1];
  const double n = degrees;
  const double z = normal_95;
  const double z3 = z * z * z;
  const double z5 = z3 * z * z;
  const double z7 = z5 * z * z;
  return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
}

interval mean_ratio_95(const std::vector<double>& ratios) {
  if (ratios.empty()) return {};
  const auto n = static_cast<double>(ratios.size());
  double sum = 0;
  for (const double r : ratios) sum += std::log(r);
  const double mean = sum / n;
  if (ratios.size() == 1) return {std::exp(mean), std::exp(mean), std::exp(mean)};
  double squares = 0;
  for (const double r : ratios) squares += (std::log(r) - mean) * (std::log(r) - mean);
  const double error = std::sqrt(squares / (n - 1) / n);
  const double half = student_t_95(static_cast<int>(ratios.size()) - 1) * error;
  return {std::exp(mean), std::exp(mean - half), std::exp(mean + half)};
}

}  // namespace gar::bench
