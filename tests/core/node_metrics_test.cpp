// The node's metrics: complete, and bounded whoever connects.
#include "lib/core/node_metrics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

namespace gar {
namespace {

status_snapshot whole_status() {
  status_snapshot s;
  s.version = "1.2";
  s.executor = {"io-uring", "naive", "fallback", error(errc::ExecutorFallback, {"a", "b", "c"})};
  s.word_wait = {"software", false, ""};
  s.plan.requested = s.plan.running = "poll";
  s.capabilities = {{"word-wait", true, ""}, {"io-uring", false, "denied"}};
  s.waits.lost_store = 3;
  s.waits.waited_ns = 1'500'000'000;
  s.kinds.late = 5;
  s.process_rss_kib = 2;
  return s;
}

std::string text_of(metrics_dialect as, const wait_statistics& waits = {}) {
  return node_metrics(whole_status(), {waits, {}, {}}, as);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(node_metrics, say_what_was_counted) {
  const std::string text = text_of(metrics_dialect::open_metrics);
  for (const char* line :
       {"gard_build_info{version=\"1.2\"} 1", "gard_lost_stores_total 3",
        "gard_waited_seconds_total 1.5", "gard_waits_total{kind=\"late\"} 5",
        "gard_capability{capability=\"io-uring\"} 0", "gard_warnings{name=\"ExecutorFallback\"} 1",
        "gard_resident_memory_bytes 2048",
        "gard_executor_info{requested=\"io-uring\",running=\"naive\","
        "strictness=\"fallback\"} 1"}) {
    EXPECT_NE(text.find(std::string("\n") + line + "\n"), std::string::npos) << line << text;
  }
}

TEST(node_metrics, each_sample_follows_the_type_and_help_of_its_family) {
  for (const auto as : {metrics_dialect::open_metrics, metrics_dialect::prometheus}) {
    std::string family;
    std::set<std::string> seen;
    for (const std::string& line : lines_of(text_of(as))) {
      if (line == "# EOF") continue;
      if (line.starts_with("# TYPE ")) {
        family = line.substr(7, line.find(' ', 7) - 7);
        EXPECT_TRUE(seen.insert(family).second) << family << " is there twice";
      } else if (line.starts_with("# ")) {
        EXPECT_NE(line.find(" " + family + " "), std::string::npos) << line;
      } else {
        EXPECT_TRUE(line.starts_with(family)) << line << " below " << family;
      }
    }
  }
}

TEST(node_metrics, both_dialects_have_the_same_samples) {
  const auto samples = [](metrics_dialect as) {
    std::vector<std::string> lines = lines_of(text_of(as));
    std::erase_if(lines, [](const std::string& l) { return l.starts_with('#'); });
    return lines;
  };
  EXPECT_EQ(samples(metrics_dialect::open_metrics), samples(metrics_dialect::prometheus));
}

TEST(node_metrics, have_a_bounded_number_of_series_however_many_plans_ran) {
  wait_statistics waits;
  for (uint64_t i = 1; i <= 1000; ++i) {
    plan p;
    p.park = park_kind::flag;
    p.park_max = from_us(i);
    p.backstop = from_ms(10);
    waits.add(p, {});
  }
  const std::string text = text_of(metrics_dialect::open_metrics, waits);
  EXPECT_LE(lines_of(text).size(), 500u);
  EXPECT_NE(text.find("gard_plan_waits_total{plan=\"other\"} 984"), std::string::npos);
}

}  // namespace
}  // namespace gar
