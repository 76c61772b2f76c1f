// What the demo makes of its tallies: ratios, percentiles, the verdict; and the work's script.
#include "clients/demo/demo_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "clients/demo/work_script.hpp"
#include "clients/garctl/readable.hpp"

namespace gar {
namespace {

tally right_tally(uint64_t waits, uint64_t cpu_ns) {
  tally t;
  t.waits = waits;
  t.completed = waits;
  t.parked = waits;
  t.cpu_ns = cpu_ns;
  t.started_ns = 1'000;
  t.ended_ns = 2'001'000;
  return t;
}

demo_report report_of(const tally& run, const tally& spin) {
  demo_report report;
  report.options.processes = 1;
  report.options.streams = 1;
  report.options.waits = 10;
  report.options.plans = {"poll"};
  report.device_name = "d";
  report.word_wait = "software";
  report.runs.resize(1);
  report.runs[0].add(run);
  report.spin.add(spin);
  return report;
}

TEST(demo_report, ratios_are_for_each_wait_against_the_spin) {
  tally run = right_tally(10, 500);
  run.ended_ns = 4'001'000;  // takes twice as long
  const auto json = to_json(report_of(run, right_tally(10, 1000)));
  const auto& first = json.at("runs").at(0);
  EXPECT_DOUBLE_EQ(first.at("cpu_ratio_to_spin").as_double(), 0.5);
  EXPECT_DOUBLE_EQ(first.at("throughput_ratio_to_spin").as_double(), 0.5);
  EXPECT_DOUBLE_EQ(first.at("elapsed_ms").as_double(), 4.0);
}

TEST(demo_report, what_cannot_be_known_is_null) {
  const auto json = to_json(report_of(right_tally(10, 500), right_tally(10, 0)));
  EXPECT_TRUE(json.at("runs").at(0).at("cpu_ratio_to_spin").is_null());
  EXPECT_TRUE(json.at("runs").at(0).at("wake_us").is_null());
}

TEST(demo_report, percentiles_are_of_all_wakes) {
  tally run = right_tally(10, 1);
  for (uint64_t us = 1; us <= 100; ++us) run.wake_ns.push_back(us * 1000);
  const auto json = to_json(report_of(run, right_tally(10, 1)));
  EXPECT_DOUBLE_EQ(json.at("runs").at(0).at("wake_us").at("p50").as_double(), 51.0);
  EXPECT_DOUBLE_EQ(json.at("runs").at(0).at("wake_us").at("p99").as_double(), 100.0);
}

TEST(demo_report, one_wait_missing_or_failed_is_not_right) {
  EXPECT_TRUE(report_of(right_tally(10, 1), right_tally(10, 1)).right());
  EXPECT_FALSE(report_of(right_tally(9, 1), right_tally(10, 1)).right());
  EXPECT_FALSE(report_of(right_tally(10, 1), right_tally(9, 1)).right());
  tally failed = right_tally(10, 1);
  failed.failed = 1;
  EXPECT_FALSE(report_of(failed, right_tally(10, 1)).right());
}

TEST(demo_report, slices_at_the_same_time_take_the_longest_of_them) {
  tally one = right_tally(1, 1);
  tally other = right_tally(1, 1);
  other.started_ns = 500;
  other.ended_ns = 1'500;
  one.add(other);
  EXPECT_EQ(one.started_ns, 500u);
  EXPECT_EQ(one.ended_ns, 2'001'000u);
  tally none;
  none.add(one);
  EXPECT_EQ(none.started_ns, 500u);
}

TEST(demo_report, a_tally_goes_through_json_unchanged) {
  tally t = right_tally(3, 12);
  t.failed = 1;
  t.in_process = 2;
  t.late = 4;
  t.wake_ns = {1, 1ull << 63};
  t.failure = "stream 1: \xc3\xa4";
  EXPECT_EQ(to_json(tally_of(to_json(t))), to_json(t));
}

TEST(demo_report, its_table_fits_100_columns) {
  tally big = right_tally(10, 9'000'000'000);
  big.blocked = big.immediate = big.late = big.parked = big.in_process = 9'999;
  big.completed = 9'999;
  big.ended_ns = 99'000'000'000;
  big.wake_ns = {123'456'789};
  demo_report report = report_of(big, big);
  report.options.plans = {
      "flag:park_us=100,backstop_us=10000+predict:margin_us=200,"
      "min_sleep_us=50,max_sleep_us=50000,window=8"};
  report.options.waits = 9'999;
  report.runs[0].cpu_ms_gard = 9'999;
  std::istringstream lines(table_of(report, paint(false)));
  std::string line;
  while (std::getline(lines, line)) {
    if (line.find("plan 1") == std::string::npos) {
      EXPECT_LE(columns_of(line), 100u) << line;
    }
  }
}

TEST(demo_script, has_a_piece_for_each_kind_in_each_twenty) {
  const duration work = from_us(2000);
  for (uint64_t first : {0u, 20u, 40u}) {
    EXPECT_EQ(scripted_piece(work, 0, first + 1).takes, from_us(500));
    EXPECT_TRUE(scripted_piece(work, 0, first + 3).done_before_wait);
    for (uint64_t i : {0u, 2u, 4u, 19u}) {
      const piece_of_work piece = scripted_piece(work, 5, first + i);
      EXPECT_FALSE(piece.done_before_wait);
      EXPECT_GE(piece.takes, work);
      EXPECT_LE(piece.takes, work + work / 16);
    }
  }
}

}  // namespace
}  // namespace gar
