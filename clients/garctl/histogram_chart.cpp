#include "clients/garctl/histogram_chart.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "clients/garctl/html_text.hpp"
#include "clients/garctl/readable.hpp"

namespace gar {
namespace {

constexpr double width = 640;
constexpr double height = 190;
constexpr double base = 160;  // where columns stand
constexpr double top = 14;
constexpr size_t labels_max = 4;
constexpr double label_half = 50;  // of the widest, where the page is narrow and its letters large

std::string bound_text(const histogram_counts& of, size_t range) {
  return range < of.bounds_ns.size() ? readable_ns(of.bounds_ns[range]) : "more";
}

std::string range_text(const histogram_counts& of, size_t range) {
  if (range == of.bounds_ns.size()) return "above " + readable_ns(of.bounds_ns.back());
  return (range == 0 ? "0" : readable_ns(of.bounds_ns[range - 1])) + " to " +
         readable_ns(of.bounds_ns[range]);
}

}  // namespace

uint64_t histogram_counts::count() const {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

uint64_t histogram_counts::quantile_ns(uint32_t thousandths) const {
  const auto wanted = static_cast<double>(count()) * thousandths / 1000;
  double below = 0;
  for (size_t i = 0; i < counts.size() && i < bounds_ns.size(); ++i) {
    const auto here = static_cast<double>(counts[i]);
    if (here > 0 && below + here >= wanted) {
      const auto from = static_cast<double>(i == 0 ? 0 : bounds_ns[i - 1]);
      const auto to = static_cast<double>(bounds_ns[i]);
      return static_cast<uint64_t>(from + (to - from) * std::max(0.0, wanted - below) / here);
    }
    below += here;
  }
  return count() == 0 || bounds_ns.empty() ? 0 : bounds_ns.back();
}

std::string histogram_chart(const histogram_counts& of, std::string_view title) {
  const bool whole = !of.bounds_ns.empty() && of.counts.size() == of.bounds_ns.size() + 1;
  const uint64_t most = whole ? *std::max_element(of.counts.begin(), of.counts.end()) : 0;
  if (most == 0) return "<p class=\"none\">None yet.</p>\n";
  const auto filled = [](uint64_t c) { return c > 0; };
  const auto first = static_cast<size_t>(std::find_if(of.counts.begin(), of.counts.end(), filled) -
                                         of.counts.begin());
  const auto last = static_cast<size_t>(
      of.counts.rend() - std::find_if(of.counts.rbegin(), of.counts.rend(), filled) - 1);
  const size_t columns = last - first + 1;
  const double step = width / static_cast<double>(columns);
  const size_t label_every = (columns + labels_max - 1) / labels_max;
  std::string svg =
      fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n", width,
                  height, html_text(title));
  svg += fmt::format("<line class=\"axis\" x1=\"0\" x2=\"{:.0f}\" y1=\"{:.0f}\" y2=\"{:.0f}\"/>\n",
                     width, base, base);
  for (size_t i = first; i <= last; ++i) {
    const double share = static_cast<double>(of.counts[i]) / static_cast<double>(most);
    const double tall = of.counts[i] == 0 ? 0 : std::max(1.5, share * (base - top));
    const double wide = std::min(step * 0.8, 60.0);
    const double left = static_cast<double>(i - first) * step + (step - wide) / 2;
    svg += fmt::format(
        "<rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">"
        "<title>{}: {}</title></rect>\n",
        left, base - tall, wide, tall, range_text(of, i), of.counts[i]);
    if ((last - i) % label_every != 0) continue;
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>\n",
                       std::clamp(left + wide / 2, label_half, width - label_half), base + 24,
                       bound_text(of, i));
  }
  return svg + "</svg>\n";
}

}  // namespace gar
