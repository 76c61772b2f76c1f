#include "bench/picture.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace gar::bench {
namespace {

constexpr double panel_width = 330;
constexpr double panel_height = 300;
constexpr double left = 110;
constexpr double top = 60;
constexpr double gap = 40;
constexpr double below = 70;
constexpr std::array colours = {"#1f5fa8", "#c2521b", "#3a7d34"};

struct range {
  double from = 1;
  double to = 10;
};

// Whole decades around what is there.
range decades(const std::vector<double>& values) {
  range r{1e300, 0};
  for (const double v : values) {
    if (v <= 0) continue;
    r.from = std::min(r.from, v);
    r.to = std::max(r.to, v);
  }
  if (r.to <= 0) return {1, 10};
  r.from = std::pow(10, std::floor(std::log10(r.from)));
  r.to = std::pow(10, std::max(std::ceil(std::log10(r.to)), std::log10(r.from) + 1));
  return r;
}

double part(double value, const range& of) {
  return std::log10(value / of.from) / std::log10(of.to / of.from);
}

std::string grouped(double value) {
  const std::string digits = fmt::format("{:.0f}", value);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

class panel_drawing {
 public:
  panel_drawing(const picture_panel& panel, size_t index, const range& values)
      : panel_(panel),
        x0_(left + static_cast<double>(index) * (panel_width + gap)),
        values_(values),
        axis_(decades(all_x())) {}

  std::string draw(bool with_values) {
    out_ += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#999\"/>\n", x0_,
        top, panel_width, panel_height);
    text(x0_ + panel_width / 2, top - 12, "middle", panel_.title);
    text(x0_ + panel_width / 2, top + panel_height + 40, "middle", panel_.x_name);
    grid(with_values);
    for (size_t i = 0; i < panel_.lines.size(); ++i) line(panel_.lines[i], colours[i % 3]);
    return std::move(out_);
  }

 private:
  std::vector<double> all_x() const {
    std::vector<double> all;
    for (const picture_line& each : panel_.lines) {
      for (const auto& point : each.points) all.push_back(point.first);
    }
    return all;
  }
  double x(double value) const { return x0_ + part(value, axis_) * panel_width; }
  double y(double value) const { return top + (1 - part(value, values_)) * panel_height; }

  void text(double at_x, double at_y, const char* anchor, const std::string& what) {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", at_x,
                        at_y, anchor, what);
  }
  void rule(double x1, double y1, double x2, double y2) {
    out_ += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#e4e4e4\"/>\n", x1,
        y1, x2, y2);
  }
  void grid(bool with_values) {
    for (double v = axis_.from; v <= axis_.to * 1.01; v *= 10) {
      rule(x(v), top, x(v), top + panel_height);
      text(x(v), top + panel_height + 18, "middle", grouped(v));
    }
    for (double v = values_.from; v <= values_.to * 1.01; v *= 10) {
      rule(x0_, y(v), x0_ + panel_width, y(v));
      if (with_values) text(x0_ - 6, y(v) + 4, "end", grouped(v));
    }
  }
  void line(const picture_line& of, const char* colour) {
    std::string path;
    for (const auto& [at, value] : of.points) {
      if (at <= 0 || value <= 0) continue;
      path += fmt::format("{:.1f},{:.1f} ", x(at), y(value));
      out_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x(at),
                          y(value), colour);
    }
    out_ +=
        fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n",
                    path, colour);
  }

  const picture_panel& panel_;
  double x0_;
  range values_;
  range axis_;
  std::string out_;
};

std::string legend(const picture_panel& of, double at_y) {
  std::string out;
  double x = left;
  for (size_t i = 0; i < of.lines.size(); ++i) {
    out += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"4\" fill=\"{}\"/>\n", x, at_y - 4,
                       colours[i % 3]);
    out += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", x + 10, at_y, of.lines[i].name);
    x += 340;
  }
  return out;
}

}  // namespace

std::string svg_of(const std::string& title, const std::string& y_name,
                   const std::vector<picture_panel>& panels) {
  std::vector<double> values;
  for (const picture_panel& panel : panels) {
    for (const picture_line& line : panel.lines) {
      for (const auto& point : line.points) values.push_back(point.second);
    }
  }
  const range shared = decades(values);
  const double width = left + static_cast<double>(panels.size()) * (panel_width + gap);
  const double height = top + panel_height + below + 20;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"24\" font-size=\"15\">{3}</text>\n"
      "<text x=\"18\" y=\"{4}\" transform=\"rotate(-90 18 {4})\" "
      "text-anchor=\"middle\">{5}</text>\n",
      width, height, left, title, top + panel_height / 2, y_name);
  for (size_t i = 0; i < panels.size(); ++i) {
    out += panel_drawing(panels[i], i, shared).draw(i == 0);
  }
  if (!panels.empty()) out += legend(panels.front(), height - 20);
  return out + "</svg>\n";
}

}  // namespace gar::bench
