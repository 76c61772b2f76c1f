// Events as lines: each once, with the time of day, and what a reader missed.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <vector>

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

TEST_F(event_text, a_text_is_shown_whatever_it_says_and_left_out_where_there_is_none) {
  event_lines lines(false, paint(false));
  EXPECT_EQ(lines.take(json::parse(answer(event("?"), 1)), noon_ns),
            "11:59:59.500  stream_opened     trainer (7)  stream 2: ?\n");
  json::value silent = json::parse(answer(event(""), 2));
  EXPECT_EQ(lines.take(silent, noon_ns), "11:59:59.500  stream_opened     trainer (7)  stream 2\n");
  silent.at("events").at(0).as_object().erase("text");
  EXPECT_EQ(lines.take(silent, noon_ns), "11:59:59.500  stream_opened     trainer (7)  stream 2\n");
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

// An event's number on the clients' socket is another than on the control socket.
class from_both_sockets : public event_text {
 protected:
  // Numbered from `first`, a second apart, the last at `last_s`.
  static std::string events(uint64_t first, uint64_t count, uint64_t last_s) {
    std::string all;
    for (uint64_t i = 0; i < count; ++i) {
      const std::string s = std::to_string(last_s + 1 - count + i);
      all += (all.empty() ? "" : ",") + std::string(R"({"number":)") + std::to_string(first + i) +
             R"(,"at_ns":)" + s + R"(000000000,"event":"warning","text":"at )" + s + R"("})";
    }
    return all;
  }
  // What is behind `after` of `all`, at the second `now_s`.
  static std::string answer(const std::string& shown, uint64_t now_s, uint64_t next,
                            uint64_t lost = 0, bool more = false) {
    return R"({"log":9,"now_ns":)" + std::to_string(now_s) + R"(000000000,"next":)" +
           std::to_string(next) + R"(,"lost":)" + std::to_string(lost) + R"(,"more":)" +
           (more ? "true" : "false") + R"(,"events":[)" + shown + "]}";
  }
  std::string take(const std::string& from, const std::string& said) {
    return lines.take(json::parse(said), noon_ns, from);
  }
  // The seconds of the events in these lines.
  static std::vector<int> seconds(const std::string& shown) {
    std::vector<int> all;
    for (size_t at = 0; (at = shown.find("at ", at)) != std::string::npos; ++at) {
      all.push_back(std::stoi(shown.substr(at + 3)));
    }
    return all;
  }

  event_lines lines{false, paint(false)};
};

TEST_F(from_both_sockets, what_was_shown_is_not_shown_again) {
  take("control", answer("", 10, 900));
  EXPECT_EQ(seconds(take("control", answer(events(901, 2, 12), 12, 902))),
            (std::vector<int>{11, 12}));
  // Asked for what is behind 902, of which a user's three events know nothing.
  EXPECT_EQ(take("clients", answer("", 14, 0)), "");
  EXPECT_TRUE(lines.more());
  EXPECT_EQ(json::serialize(lines.request()), R"({"op":"events","after":0})");
  const std::string shown = take("clients", answer(events(1, 3, 13), 14, 3));
  EXPECT_EQ(seconds(shown), std::vector<int>{13});
  EXPECT_EQ(shown.find("lost"), std::string::npos) << shown;
  EXPECT_EQ(json::serialize(lines.request()), R"({"op":"events","after":3})");
  EXPECT_EQ(seconds(take("clients", answer(events(4, 1, 15), 15, 4))), std::vector<int>{15});
}

TEST_F(from_both_sockets, nothing_that_is_kept_is_skipped_in_whichever_parts_it_comes) {
  take("clients", answer(events(1, 3, 3), 3, 3));
  take("control", answer("", 9, 8));
  // Eight are kept, of which three were shown; their numbers were once others'.
  EXPECT_EQ(take("control", answer(events(41, 2, 2), 9, 42, 40, true)), "");
  EXPECT_EQ(seconds(take("control", answer(events(43, 2, 4), 9, 44, 0, true))),
            std::vector<int>{4});
  EXPECT_EQ(seconds(take("control", answer(events(45, 4, 8), 9, 48))),
            (std::vector<int>{5, 6, 7, 8}));
  EXPECT_FALSE(lines.more());
}

TEST_F(from_both_sockets, what_was_pushed_out_meanwhile_is_told) {
  take("control", answer("", 10, 900));
  take("clients", answer("", 90, 2000));
  const std::string shown = take("clients", answer(events(977, 2, 89), 90, 978, 976));
  EXPECT_EQ(shown.find("12:00:00.000  lost              up to 976 events"), 0u) << shown;
  EXPECT_EQ(seconds(shown), (std::vector<int>{88, 89}));
  // From now on it is counted by numbers again.
  EXPECT_NE(take("clients", answer(events(981, 1, 91), 91, 981, 2)).find("  2 events"),
            std::string::npos);
}

TEST_F(from_both_sockets, another_gard_is_said_so_and_read_from_its_beginning) {
  take("control", answer("", 100, 900));
  const std::string other = R"({"log":10,"now_ns":5000000000,"next":2,"lost":0,"more":false,)"
                            R"("events":[)";
  EXPECT_NE(take("clients", other + "]}").find("restarted"), std::string::npos);
  EXPECT_EQ(seconds(take("clients", other + events(1, 2, 4) + "]}")), (std::vector<int>{3, 4}));
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
