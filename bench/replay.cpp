#include "bench/replay.hpp"

#include <charconv>

#include "lib/core/estimator.hpp"
#include "lib/core/printable.hpp"

namespace gar::bench {
namespace {

constexpr size_t shown_bytes_max = 40;

error bad_line(const std::string& name, size_t number, const std::string& what) {
  return error(errc::InvalidArgument, {name + ":" + std::to_string(number), what});
}

}  // namespace

result<std::vector<uint64_t>> parse_series(std::string_view text, const std::string& name) {
  std::vector<uint64_t> series;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    uint64_t value = 0;
    const auto [stop, fault] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (fault != std::errc() || stop != line.data() + line.size()) {
      return bad_line(name, number,
                      "'" + printable(line, shown_bytes_max) + "' is not a number of ns");
    }
    series.push_back(value);
  }
  if (series.empty()) return error(errc::InvalidArgument, {name, "it has no residual"});
  return series;
}

replay_sums replay(const std::vector<uint64_t>& residuals_ns, const plan& how) {
  replay_sums sums;
  estimator point;
  // Samples are recorded whether or not the plan looks at them; the window only counts at a late
  // one, which there is none of without a sleep.
  const uint8_t window = how.predict ? how.predict->window : 1;
  for (const uint64_t residual : residuals_ns) {
    ++sums.waits;
    if (how.park == park_kind::block) continue;
    const duration sleep = how.predict ? point.sleep_for(*how.predict) : duration{};
    sums.slept_ns += sleep.ns;
    if (sleep && sleep.ns >= residual) {
      ++sums.late;
      sums.delay_ns += sleep.ns - residual;
      point.record(sample::late(sleep), window);
    } else {
      ++sums.exact;
      sums.cpu_ns += residual - sleep.ns;
      point.record(sample::exact(duration{residual}), window);
    }
  }
  return sums;
}

}  // namespace gar::bench
