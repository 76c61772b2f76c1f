// Metrics as text: the two dialects, escapes, histograms.
#include "lib/core/metrics_text.hpp"

#include <gtest/gtest.h>

namespace gar {
namespace {

using enum metric_type;

TEST(metrics_text, open_metrics_names_a_counters_family_without_total_and_ends_with_eof) {
  metrics_text t(metrics_dialect::open_metrics);
  t.family("gard_cpu_seconds", counter, "seconds", "CPU time.");
  t.sample({}, from_ms(1'500));
  EXPECT_EQ(t.take(),
            "# TYPE gard_cpu_seconds counter\n"
            "# UNIT gard_cpu_seconds seconds\n"
            "# HELP gard_cpu_seconds CPU time.\n"
            "gard_cpu_seconds_total 1.5\n"
            "# EOF\n");
}

TEST(metrics_text, prometheus_names_it_with_total_and_knows_no_unit_and_no_info) {
  metrics_text t(metrics_dialect::prometheus);
  t.family("gard_cpu_seconds", counter, "seconds", "CPU time.");
  t.sample({}, from_ms(1'500));
  t.family("gard_build", info, {}, "Version.");
  t.sample({{"version", "1"}}, 1);
  EXPECT_EQ(t.take(),
            "# TYPE gard_cpu_seconds_total counter\n"
            "# HELP gard_cpu_seconds_total CPU time.\n"
            "gard_cpu_seconds_total 1.5\n"
            "# TYPE gard_build_info gauge\n"
            "# HELP gard_build_info Version.\n"
            "gard_build_info{version=\"1\"} 1\n");
}

TEST(metrics_text, an_info_is_one_in_open_metrics) {
  metrics_text t(metrics_dialect::open_metrics);
  t.family("gard_build", info, {}, "Version.");
  t.sample({{"version", "1"}}, 1);
  EXPECT_EQ(t.take(),
            "# TYPE gard_build info\n# HELP gard_build Version.\n"
            "gard_build_info{version=\"1\"} 1\n# EOF\n");
}

TEST(metrics_text, label_values_are_escaped) {
  metrics_text t(metrics_dialect::prometheus);
  t.family("gard_clients", gauge, {}, "a \\ b");
  t.sample({{"a", "x\"y\\z\n"}, {"b", ""}}, 7);
  EXPECT_EQ(t.take(),
            "# TYPE gard_clients gauge\n# HELP gard_clients a \\\\ b\n"
            "gard_clients{a=\"x\\\"y\\\\z\\n\",b=\"\"} 7\n");
}

TEST(metrics_text, a_histogram_counts_what_is_not_above_each_bound) {
  duration_histogram h;
  h.add(duration{500});
  h.add(from_us(2));
  h.add(from_ms(60'000));
  metrics_text t(metrics_dialect::open_metrics);
  t.family("gard_wait_duration_seconds", histogram, "seconds", "How long.");
  t.sample({{"kind", "late"}}, h);
  const std::string text = t.take();
  const auto has = [&text](std::string_view line) {
    return text.find("gard_wait_duration_seconds" + std::string(line) + "\n") != std::string::npos;
  };
  EXPECT_TRUE(has("_bucket{kind=\"late\",le=\"0.000001\"} 1")) << text;
  EXPECT_TRUE(has("_bucket{kind=\"late\",le=\"0.0000025\"} 2"));
  EXPECT_TRUE(has("_bucket{kind=\"late\",le=\"10.0\"} 2"));
  EXPECT_TRUE(has("_bucket{kind=\"late\",le=\"+Inf\"} 3"));
  EXPECT_TRUE(has("_count{kind=\"late\"} 3"));
  EXPECT_TRUE(has("_sum{kind=\"late\"} 60.0000025"));
}

}  // namespace
}  // namespace gar
