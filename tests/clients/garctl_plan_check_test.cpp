// garctl's plan check: verdicts as JSON, line by line, and the caret.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <random>
#include <sstream>

#include "clients/garctl/caret.hpp"
#include "clients/garctl/plan_check.hpp"
#include "clients/garctl/plan_need.hpp"

namespace gar {
namespace {

namespace json = boost::json;

std::vector<json::value> check_lines(const std::string& input, line_counts& counts) {
  std::istringstream in(input);
  std::ostringstream out;
  counts = check_plan_lines_json(in, out);
  std::vector<json::value> answers;
  std::istringstream lines(out.str());
  std::string line;
  while (std::getline(lines, line)) answers.push_back(json::parse(line));
  return answers;
}

// Where the caret stands, and what is above it.
char above_caret(const std::string& shown) {
  const size_t first = shown.find('\n');
  const std::string caret_line = shown.substr(first + 1);
  const size_t column = caret_line.find('^');
  return column < first ? shown[column] : '\n';
}

TEST(garctl_plan_check, a_valid_text_answers_its_label_and_bands) {
  const json::object answer = to_json(check_plan("flag:backstop_us=2,park_us=1;rows>=32:poll"));
  EXPECT_EQ(json::value(answer),
            json::parse(R"({"valid":true,"label":"flag:park_us=1,backstop_us=2;rows>=32:poll",
              "bands":[{"from_rows":0,"label":"flag:park_us=1,backstop_us=2"},
                       {"from_rows":32,"label":"poll"}]})"));
}

TEST(garctl_plan_check, an_invalid_text_answers_number_position_and_fault) {
  const json::object answer = to_json(check_plan("flag:park_us=1,nap=2"));
  EXPECT_EQ(answer.at("valid"), false);
  EXPECT_EQ(answer.at("code"), 1);
  EXPECT_EQ(answer.at("name"), "InvalidPlan");
  EXPECT_EQ(answer.at("position"), 15);
  EXPECT_THAT(std::string(answer.at("fault").as_string()), testing::HasSubstr("nap"));
}

TEST(garctl_plan_check, a_fault_comes_with_what_its_part_of_the_plan_needs) {
  const auto need = [](std::string_view text) { return plan_need(text, check_plan(text).fault); };
  EXPECT_THAT(need("flag"), testing::HasSubstr("flag:park_us="));
  EXPECT_THAT(need("block;rows>=2:flag:park_us=1"), testing::HasSubstr("flag:park_us="));
  EXPECT_THAT(need("poll+predict:window=8"), testing::HasSubstr("+predict:margin_us="));
  EXPECT_THAT(need("flag:park_us=1,backstop_us=1;rows>=2:"), testing::HasSubstr("block, poll or"));
  EXPECT_THAT(need(""), testing::HasSubstr("block, poll or"));
}

TEST(garctl_plan_check, each_line_is_a_text_also_an_empty_one_and_the_last) {
  line_counts counts;
  EXPECT_THAT(check_lines("", counts), testing::IsEmpty());
  EXPECT_EQ(check_lines("block\n\npoll", counts).size(), 3u);
  EXPECT_EQ(counts.texts, 3u);
  EXPECT_EQ(counts.invalid, 1u);
  EXPECT_EQ(check_lines("block\npoll\n", counts).size(), 2u);
  EXPECT_EQ(counts.invalid, 0u);
}

TEST(garctl_plan_check, any_bytes_give_one_json_answer_a_line) {
  std::mt19937 random(7);
  std::string input;
  size_t lines = 0;
  const std::string_view pieces[] = {"block",   "poll",      "flag:park_us=", "1", "0",
                                     ",",       "+predict:", ";rows>=",       ":", "backstop_us=",
                                     "window=", " "};
  for (int i = 0; i < 20'000; ++i) {
    const unsigned what = random() % 16;
    if (what < std::size(pieces)) {
      input += pieces[what];
    } else {
      input += static_cast<char>(random() % 256);
    }
  }
  for (char c : input) lines += c == '\n';
  if (input.back() != '\n') ++lines;
  line_counts counts;
  EXPECT_EQ(check_lines(input, counts).size(), lines);  // json::parse throws on what is no JSON
  EXPECT_EQ(counts.texts, lines);
}

TEST(garctl_plan_check, a_line_longer_than_any_plan_is_one_refused_text) {
  line_counts counts;
  const auto answers = check_lines(std::string(1 << 20, 'x') + "\nblock\n", counts);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].at("position"), 512);
  EXPECT_EQ(answers[1].at("valid"), true);
}

TEST(garctl_plan_check, the_caret_stands_under_the_fault) {
  const std::string text = "flag:park_us=0,backstop_us=1";
  EXPECT_EQ(above_caret(caret_under(text, check_plan(text).fault.position)), '0');
}

TEST(garctl_plan_check, the_caret_counts_what_is_shown_for_bytes_no_terminal_shows) {
  // A character of two bytes, a tab and an escape: twelve and eight columns more than bytes.
  const std::string text = "\xc3\xa4\t\x1b[31mX";
  const std::string shown = caret_under(text, text.size() - 1);
  EXPECT_EQ(above_caret(shown), 'X');
  EXPECT_THAT(shown, testing::StartsWith("\\xc3\\xa4\\x09\\x1b[31mX\n"));
}

TEST(garctl_plan_check, the_caret_of_a_fault_at_the_end_stands_behind_the_text) {
  EXPECT_EQ(caret_under("flag:", 5), "flag:\n     ^\n");
  EXPECT_EQ(caret_under("", 0), "\n^\n");
}

}  // namespace
}  // namespace gar
