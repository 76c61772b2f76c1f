// A picture: panels side by side, each with lines over a logarithmic axis, as SVG text.
//
// Pure. Errors: none. A value of 0 or less has no place on a logarithmic axis and is left out.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace gar::bench {

struct picture_line {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

struct picture_panel {
  std::string title;
  std::string x_name;
  std::vector<picture_line> lines;
};

// All panels share the axis of values.
std::string svg_of(const std::string& title, const std::string& y_name,
                   const std::vector<picture_panel>& panels);

}  // namespace gar::bench
