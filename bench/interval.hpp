// An interval: what a ratio measured several times is, and within what it lies.
//
// Ratios multiply, so their logarithms are averaged: twice as fast and half as fast cancel out. The
// interval is Student's, since the rounds are few and their deviation is estimated from them.
// Pure. Errors: none.
#pragma once

#include <vector>

namespace gar::bench {

struct interval {
  double middle = 0;
  double low = 0;
  double high = 0;
};

// Of positive ratios. With one alone the interval is that point: nothing is known of its error.
interval mean_ratio_95(const std::vector<double>& ratios);

// The two-sided 95 % point of Student's t with so many degrees of freedom, at least 1.
double student_t_95(int degrees);

}  // namespace gar::bench
