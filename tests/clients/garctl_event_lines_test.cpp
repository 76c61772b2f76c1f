// Events as lines: each once, with the time of day, and what a reader missed.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "clients/garctl/event_lines.hpp"

namespace gar {
namespace {

namespace json = boost::json;

constexpr uint64_t noon_ns = 1'769'860'800'000'000'000;  // 2026-01-31T12:00:00Z

class event_text : public testing::Test {
 protected:
  event_text() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
  static std::string answer(const std::string& events, uint64_t next, uint64_t lost = 0,
                            uint64_t log = 9) {
    return R"({"log":)" + std::to_string(log) + R"(,"now_ns":5000000000,"next":)" +
           std::to_string(next) + R"(,"lost":)" + std::to_string(lost) +
           R"(,"more":false,"events":[)" + events + "]}";
  }
  static std::string event(const std::string& text) {
    return R"({"number":1,"at_ns":4500000000,"event":"stream_opened","uid":1000,"client_id":7,)"
           R"("client":"trainer","stream":2,"code":null,"error":null,"text":")" +
           text + "\"}";
  }
};

TEST_F(event_text, a_line_has_the_time_of_day_who_and_what) {
  event_lines lines(false, paint(false));
  EXPECT_EQ(lines.take(json::parse(answer(event("end"), 1)), noon_ns),
            "11:59:59.500  stream_opened     trainer (7)  stream 2: end\n");
}

TEST_F(event_text, what_a_client_named_itself_cannot_command_the_terminal) {
  event_lines lines(false, paint(false));
  const std::string line = lines.take(json::parse(answer(event("\\u001b[2J\\u009b"), 1)), noon_ns);
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  EXPECT_NE(line.find("\\x1b[2J"), std::string::npos) << line;
}

TEST_F(event_text, the_next_question_goes_on_behind_the_last_event) {
  event_lines lines(false, paint(false));
  EXPECT_EQ(json::serialize(lines.request()), R"({"op":"events"})");
  lines.take(json::parse(answer("", 41)), noon_ns);
  EXPECT_EQ(json::serialize(lines.request()), R"({"op":"events","after":41})");
  event_lines kept(false, paint(false));
  kept.from_the_first();
  EXPECT_EQ(json::serialize(kept.request()), R"({"op":"events","after":0})");
}

TEST_F(event_text, who_was_too_slow_is_told_how_many_it_lost) {
  event_lines lines(false, paint(false));
  lines.take(json::parse(answer("", 1)), noon_ns);
  const std::string shown = lines.take(json::parse(answer(event("a"), 9, 7)), noon_ns);
  EXPECT_EQ(shown.find("12:00:00.000  lost              7 events"), 0u) << shown;
}

TEST_F(event_text, a_gard_that_was_restarted_is_read_from_its_beginning) {
  event_lines lines(false, paint(false));
  lines.take(json::parse(answer("", 900)), noon_ns);
  const std::string shown = lines.take(json::parse(answer("", 3, 0, 10)), noon_ns);
  EXPECT_NE(shown.find("restarted"), std::string::npos);
  EXPECT_TRUE(lines.more());
  EXPECT_EQ(json::serialize(lines.request()), R"({"op":"events","after":0})");
}

TEST_F(event_text, json_has_a_date_and_a_line_an_event) {
  event_lines lines(true, paint(true));
  const std::string shown =
      lines.take(json::parse(answer(event("a") + "," + event("b"), 2)), noon_ns);
  const size_t end = shown.find('\n');
  const json::value first = json::parse(shown.substr(0, end));
  EXPECT_EQ(first.at("time"), "2026-01-31T11:59:59.500000Z");
  EXPECT_EQ(first.at("client"), "trainer");
  EXPECT_EQ(json::parse(shown.substr(end + 1)).at("text"), "b");
}

}  // namespace
}  // namespace gar
