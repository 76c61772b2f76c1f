// Findings as a person and a program see them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "clients/garctl/findings_page.hpp"
#include "clients/garctl/readable.hpp"
#include "tests/linux/temporary_directory.hpp"

namespace gar {
namespace {

using testing::HasSubstr;
using testing::Not;
using enum verdict;

const finding cost{.is = costs,
                   .what =
                       "CPUs sleep deeply between waits; keeping them awake while waits are due "
                       "costs power and saves that",
                   .measured =
                       "a sleeping thread runs 41.0 us after its wake, 9.30 us where CPUs are "
                       "kept awake",
                   .figures = {{"wake_ns", 41'000}, {"wake_held_ns", 9'300}},
                   .remedy =
                       "printf '%s\\n' first 'second  of them' && echo done 'one more word that is "
                       "long' it\\'s | cat  # then start gard anew",
                   .id = "cpu-sleep"};
const finding fine{.is = good,
                   .what = "tsc",
                   .measured = "a reading takes 25 ns",
                   .figures = {{"clock_reading_ns", 25}},
                   .id = "clock"};
const finding wrong{.is = broken, .what = "no gard answers", .remedy = "gard &", .id = "gard"};
const finding unseen{.what = "no GPU is seen here", .id = "drivers"};

std::string plain(const std::vector<finding>& findings) {
  return findings_page(findings, paint(false));
}

TEST(findings_page, what_is_broken_comes_first_and_what_is_good_last) {
  const std::string page = plain({fine, unseen, cost, wrong});
  EXPECT_THAT(page, testing::StartsWith("Broken\n  gard "));
  EXPECT_LT(page.find("Costs latency or CPU\n  cpu-sleep "), page.find("Not known\n  drivers "));
  EXPECT_LT(page.find("Not known"),
            page.find("Good\n  clock           tsc; a reading takes 25 ns\n"));
}

TEST(findings_page, a_heading_with_nothing_below_it_is_left_out) {
  EXPECT_EQ(plain({fine}), "Good\n  clock           tsc; a reading takes 25 ns\n");
}

TEST(findings_page, no_line_is_longer_than_a_terminal) {
  std::istringstream page(plain({fine, unseen, cost, wrong}));
  for (std::string line; std::getline(page, line);) {
    EXPECT_LE(columns_of(line), 80u) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
}

TEST(findings_page, a_word_that_is_longer_than_a_line_is_cut_where_it_parts) {
  const std::string plan(plan_as_shipped);
  std::string page =
      plain({{.is = good, .what = plan + "; " + std::string(200, 'x'), .id = "plan"}});
  EXPECT_THAT(page, HasSubstr("margin_us=200,\n                  min_sleep_us=50,"));
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  std::erase_if(page, [](char c) { return c == ' ' || c == '\n'; });
  EXPECT_EQ(page, "Goodplan" + plan + ';' + std::string(200, 'x'));
}

TEST(findings_page, a_number_and_its_unit_stay_together) {
  for (size_t before = 0; before < 80; ++before) {
    const finding each{.is = costs, .what = std::string(before, 'x') + " 14.9 us, told", .id = "x"};
    EXPECT_THAT(plain({each}), HasSubstr("14.9 us,"));
  }
}

TEST(findings_page, a_command_that_was_broken_into_lines_is_still_the_command) {
  const std::string page = plain({cost});
  const std::string shown = page.substr(page.find("to do:\n") + 7);
  ASSERT_THAT(shown, HasSubstr(" \\\n"));
  const temporary_directory directory;
  const auto output_of = [&](const std::string& command) {
    std::ofstream(directory.file("script")) << command << '\n';
    const std::string run =
        "sh " + directory.file("script") + " > " + directory.file("out") + " 2>&1";
    EXPECT_EQ(std::system(run.c_str()), 0);
    std::ifstream out(directory.file("out"));
    return std::string(std::istreambuf_iterator<char>(out), {});
  };
  EXPECT_EQ(output_of(shown), output_of(cost.remedy));
  EXPECT_THAT(output_of(shown), HasSubstr("second  of them\n"));
}

TEST(findings_page, nothing_reaches_the_terminal_as_more_than_text) {
  const finding evil{
      .is = costs, .what = "\x1b[2J", .measured = "\a", .remedy = "\x1b]0;x", .id = "x"};
  EXPECT_THAT(plain({evil}), Not(testing::AnyOf(HasSubstr("\x1b"), HasSubstr("\a"))));
}

TEST(findings_page, colours_say_no_more_than_the_headings) {
  std::string painted = findings_page({fine, cost, wrong, unseen}, paint(true));
  ASSERT_THAT(painted, HasSubstr("\x1b[31;1mgard\x1b[0m"));
  for (size_t at; (at = painted.find('\x1b')) != std::string::npos;) {
    painted.erase(at, painted.find('m', at) - at + 1);
  }
  EXPECT_EQ(painted, plain({fine, cost, wrong, unseen}));
}

TEST(findings_page, json_has_the_same_keys_for_all) {
  EXPECT_EQ(boost::json::serialize(findings_json({fine, wrong})),
            R"([{"id":"clock","verdict":"good","what":"tsc","measured":"a reading takes 25 ns",)"
            R"("figures":[{"name":"clock_reading_ns","value":25}],"remedy":null},)"
            R"({"id":"gard","verdict":"broken","what":"no gard answers","measured":null,)"
            R"("figures":[],"remedy":"gard &"}])");
}

}  // namespace
}  // namespace gar
