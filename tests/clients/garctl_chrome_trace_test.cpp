// Waits as a Chrome trace: spans that nest, whatever gard answered.
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <sstream>
#include <vector>

#include "clients/garctl/chrome_trace.hpp"

namespace gar {
namespace {

namespace json = boost::json;

std::string wait(const std::string& times, const char* confirmed = "false") {
  return R"({"id":255,"client_id":2,"stream":3,)" + times +
         R"(,"kind":"parked","code":0,"parks":4,"backstop_queries":1,"confirmed":)" + confirmed +
         "}";
}

constexpr const char* usual =
    R"("start_ns":1000,"registered_ns":3000,"slept_ns":4000,"seen_ns":9000,"notified_ns":9500)";

json::value traced(const std::vector<std::string>& waits) {
  std::ostringstream out;
  chrome_trace t(out);
  for (const std::string& w : waits) t.add(json::parse(R"({"waits":[)" + w + "]}"));
  t.name_clients(json::parse(R"({"clients":[{"id":2,"name":"trainer","pid":77}]})"));
  t.name_streams(json::parse(R"({"streams":[{"client_id":2,"stream":3,"name":"s"}]})"));
  t.end(5);
  return json::parse(out.str());
}

std::vector<std::string> steps(const json::value& trace) {
  std::vector<std::string> all;
  for (const json::value& e : trace.at("traceEvents").as_array()) {
    if (e.at("ph") == "M") continue;
    std::ostringstream step;
    step << e.at("ph").as_string().c_str() << ' ' << e.at("name").as_string().c_str() << ' '
         << e.at("ts").to_number<double>();
    all.push_back(step.str());
  }
  return all;
}

TEST(chrome_trace, has_each_step_of_a_wait_in_microseconds_from_the_first) {
  const json::value trace = traced({wait(usual)});
  EXPECT_EQ(steps(trace),
            (std::vector<std::string>{"b wait 0", "b registered 0", "e registered 2", "b slept 2",
                                      "e slept 6", "b parked 6", "e parked 8", "n seen 8",
                                      "b notified 8", "e notified 8.5", "e wait 8.5"}));
  const json::value& first = trace.at("traceEvents").at(0);
  EXPECT_EQ(first.at("pid"), 2);
  EXPECT_EQ(first.at("tid"), 3);
  EXPECT_EQ(first.at("id"), "0xff");
  EXPECT_EQ(first.at("args").at("kind"), "parked");
  EXPECT_EQ(first.at("args").at("confirmed_by"), "owner, afterwards");
  EXPECT_EQ(trace.at("otherData").at("lost"), 5);
}

TEST(chrome_trace, says_what_the_authority_confirmed) {
  const auto all = steps(traced({wait(usual, "true")}));
  EXPECT_NE(std::find(all.begin(), all.end(), "n confirmed 8.5"), all.end());
}

TEST(chrome_trace, names_clients_and_streams) {
  const json::value trace = traced({});
  EXPECT_EQ(trace.at("traceEvents").at(0).at("args").at("name"), "trainer (client 2, pid 77)");
  EXPECT_EQ(trace.at("traceEvents").at(1).at("args").at("name"), "stream 3: s");
}

TEST(chrome_trace, names_a_stream_without_a_name_by_its_number) {
  std::ostringstream out;
  chrome_trace t(out);
  t.name_streams(json::parse(R"({"streams":[{"client_id":2,"stream":3,"name":""}]})"));
  t.end(0);
  const json::value trace = json::parse(out.str());
  EXPECT_EQ(trace.at("traceEvents").at(0).at("args").at("name"), "stream 3");
}

TEST(chrome_trace, says_of_which_waits_the_stream_is_new_and_names_it_once) {
  std::ostringstream out;
  chrome_trace t(out);
  const auto waits = json::parse(R"({"waits":[)" + wait(usual) + "]}");
  EXPECT_TRUE(t.add(waits));
  EXPECT_FALSE(t.add(waits));
  EXPECT_FALSE(t.add(json::parse("{}")));
  for (const char* name : {"first", "second"}) {
    t.name_streams(json::parse(std::string(R"({"streams":[{"client_id":2,"stream":3,"name":")") +
                               name + R"("}]})"));
  }
  t.end(0);
  size_t names = 0;
  const json::value trace = json::parse(out.str());
  for (const json::value& e : trace.at("traceEvents").as_array()) {
    if (e.at("ph") != "M") continue;
    ++names;
    EXPECT_EQ(e.at("args").at("name"), "stream 3: first");
  }
  EXPECT_EQ(names, 1u);
}

TEST(chrome_trace, spans_neither_overlap_nor_run_backwards_whatever_came) {
  for (const char* times :
       {R"("start_ns":9000,"registered_ns":1,"slept_ns":99999,"seen_ns":5,"notified_ns":7)",
        R"("start_ns":1000,"registered_ns":0,"slept_ns":18446744073709551615,"seen_ns":9000,)"
        R"("notified_ns":9000)",
        R"("start_ns":5,"registered_ns":9,"slept_ns":3,"seen_ns":6,"notified_ns":2)", R"("x":1)"}) {
    double last = -1;
    std::vector<std::string> open;
    const json::value trace = traced({wait(times)});
    for (const json::value& e : trace.at("traceEvents").as_array()) {
      if (e.at("ph") == "M") continue;
      EXPECT_GE(e.at("ts").to_number<double>(), last) << times;
      last = e.at("ts").to_number<double>();
      const std::string name(e.at("name").as_string());
      if (e.at("ph") == "b") open.push_back(name);
      if (e.at("ph") != "e") continue;
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(open.back(), name);
      open.pop_back();
    }
    EXPECT_TRUE(open.empty());
  }
}

}  // namespace
}  // namespace gar
