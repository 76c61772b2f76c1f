// Metrics text: counts and gauges as a monitoring system reads them, in either of two dialects.
//
// OpenMetrics names a counter's family without the "_total" that its samples end in, and ends with
// "# EOF"; the older Prometheus text names it with, and knows neither units nor infos. Whoever
// fills in a family need not care.
//
//     text.family("gard_waits", metric_type::counter, "", "Waits that ..");
//     text.sample({{"kind", "late"}}, 3);
//     gard_waits_total{kind="late"} 3
//
// Invariants: every sample belongs to the family before it; a family's name ends in its unit; label
// values are escaped, whatever bytes they have.
// Threads: a value. Allocation: the text. Errors: none; a wrong name is our bug.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "lib/core/duration_histogram.hpp"

namespace gar {

enum class metrics_dialect : uint8_t { open_metrics, prometheus };

enum class metric_type : uint8_t { counter, gauge, histogram, info };

class metrics_text {
 public:
  using labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  explicit metrics_text(metrics_dialect as) : as_(as) {}

  // `unit` is empty, "seconds" or "bytes". The name has no "_total" and no "_info".
  void family(std::string_view name, metric_type type, std::string_view unit,
              std::string_view help);
  void sample(labels with, uint64_t value);
  // A time in seconds.
  void sample(labels with, duration value);
  // Every bucket, the sum and the count.
  void sample(labels with, const duration_histogram& value);

  // The whole text; nothing is added afterwards.
  std::string take();

 private:
  void line(std::string_view suffix, labels with, std::string_view bound, std::string_view value);

  metrics_dialect as_;
  std::string name_;
  metric_type type_ = metric_type::gauge;
  std::string text_;
};

}  // namespace gar
