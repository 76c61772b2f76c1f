// The report as a page: whole, by itself, and safe whatever clients call themselves.
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <regex>
#include <string>
#include <vector>

#include "clients/garctl/histogram_chart.hpp"
#include "clients/garctl/report_page.hpp"

namespace gar {
namespace {

namespace json = boost::json;

const char* const histogram = R"({"counts":[0,5,90,5],"sum_ns":200000})";

report_answers answers(const std::string& client = "trainer") {
  report_answers a;
  a.status = json::parse(
      R"({"version":"1","uptime_ms":60000,"executor":{"running":"naive","warning":{"code":3,)"
      R"("name":"ExecutorFallback","text":"executor 'io-uring' cannot run here"}},)"
      R"("word_wait":{"kind":"software"},"plan":{"running":"poll"},"waits":{"completed":100,)"
      R"("pending":2,"failed":0,"timed_out":1,"lost_store":0,"waited_ns":4000000000},)"
      R"("process":{"cpu_ms":1000},"clients":1,"streams":3})");
  a.figures = json::parse(
      std::string(R"({"bounds_ns":[1000,2500,5000],"kinds":{"parked":)") + histogram +
      R"(},"told":)" + histogram + R"(,"plans":[{"plan":"flag:park_us=100","kinds":{"parked":60,)" +
      R"("late":40},"waits":)" + histogram +
      R"(,"slept_ns":100000,"parks":200,"backstop_queries":50},{"plan":null,"kinds":{},"waits":)" +
      R"({"counts":[0,0,0,0],"sum_ns":0},"slept_ns":0,"parks":0,"backstop_queries":0}]})");
  a.clients = json::parse(R"({"clients":[{"id":7,"name":")" + client +
                          R"(","completed":100,"failed":0,"pending":2,"waited_ns":4000000000}]})");
  a.plans = json::parse(R"({"plans":[]})");
  return a;
}

// Each element that was begun ends, inside the one that it began in.
void expect_well_formed(const std::string& page) {
  std::vector<std::string> open;
  const std::regex tag("<(/?)([a-z0-9]+)([^<>]*)>");
  for (std::sregex_iterator at(page.begin(), page.end(), tag), end; at != end; ++at) {
    const std::string name = (*at)[2];
    if ((*at)[1] == "/") {
      ASSERT_FALSE(open.empty()) << name;
      EXPECT_EQ(open.back(), name);
      open.pop_back();
    } else if (name != "meta" && name != "wbr" && !(*at)[3].str().ends_with("/")) {
      open.push_back(name);
    }
  }
  EXPECT_TRUE(open.empty());
}

bool has(const std::string& page, const std::string& what) {
  return page.find(what) != std::string::npos;
}

TEST(report_page, says_what_was_given_back_and_how_plans_compare) {
  const std::string page = report_page(answers(), "today");
  EXPECT_TRUE(has(page, "<b>3.00&nbsp;s</b>of CPU given back"));
  EXPECT_TRUE(has(page, "75.0&nbsp;% saved"));
  EXPECT_TRUE(has(page, "flag:park_us=100"));
  EXPECT_TRUE(has(page, "<td>50 %</td><td>2.0</td><td>0.50</td>"));
  EXPECT_TRUE(has(page, "trainer (7)"));
  EXPECT_FALSE(has(page, "all others"));  // none ended under them
}

TEST(report_page, names_each_warning_with_its_remedy) {
  const std::string page = report_page(answers(), "today");
  EXPECT_TRUE(has(page, "<b>ExecutorFallback</b>: executor &#39;io-uring&#39; cannot run here"));
  EXPECT_TRUE(has(page, "To do: Enable what is missing"));
}

TEST(report_page, is_well_formed_and_needs_nothing_from_elsewhere) {
  const std::string page = report_page(answers(), "today");
  expect_well_formed(page);
  for (const char* outside : {"http", "src=", "href=", "url(", "<script", "@import"}) {
    EXPECT_FALSE(has(page, outside)) << outside;
  }
  EXPECT_TRUE(has(page, "prefers-color-scheme: dark"));
  EXPECT_TRUE(has(page, "width=device-width"));
}

TEST(report_page, breaks_a_plan_between_its_parts_alone) {
  report_answers a = answers();
  a.status.at("plan").as_object()["running"] = "flag:park_us=1,backstop_us=2+predict:x=<;poll";
  const std::string page = report_page(a, "today");
  EXPECT_TRUE(
      has(page, "<code>flag:park_us=1,<wbr>backstop_us=2+<wbr>predict:x=&lt;;<wbr>poll</code>"));
  expect_well_formed(page);
}

TEST(report_page, what_a_client_calls_itself_stays_text) {
  const std::string page = report_page(answers("<script>alert('x')</script>&\\\""), "today");
  EXPECT_FALSE(has(page, "<script"));
  EXPECT_TRUE(has(page, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot;"));
  expect_well_formed(page);
}

TEST(report_page, of_a_gard_that_has_done_nothing_and_of_no_answers_is_whole_too) {
  expect_well_formed(report_page({}, "today"));
  report_answers idle = answers();
  idle.figures = nullptr;
  idle.clients = nullptr;
  const std::string page = report_page(idle, "today");
  expect_well_formed(page);
  EXPECT_TRUE(has(page, "No wait has ended yet"));
}

TEST(histogram_chart, shows_the_ranges_between_the_first_and_the_last_that_are_not_empty) {
  const std::string svg = histogram_chart({{1000, 2500, 5000}, {0, 5, 0, 9}, 1}, "waits");
  EXPECT_FALSE(has(svg, "0 to 1.00 us"));
  EXPECT_TRUE(has(svg, "1.00 us to 2.50 us: 5"));
  EXPECT_TRUE(has(svg, "2.50 us to 5.00 us: 0"));
  EXPECT_TRUE(has(svg, "above 5.00 us: 9"));
}

TEST(histogram_chart, keeps_the_words_below_its_columns_inside_itself) {
  const std::regex word("<text x=\"([0-9.]+)\"");
  for (const size_t columns : {1, 2, 3, 12, 30}) {
    histogram_counts h;
    for (size_t i = 0; i < columns; ++i) h.bounds_ns.push_back(1000 * (i + 1));
    h.counts.assign(columns, 1);
    h.counts.push_back(0);
    const std::string svg = histogram_chart(h, "waits");
    double before = -100;
    for (std::sregex_iterator at(svg.begin(), svg.end(), word), end; at != end; ++at) {
      const double middle = std::stod((*at)[1]);
      EXPECT_GE(middle, 50) << columns;
      EXPECT_LE(middle, 640 - 50) << columns;
      EXPECT_GE(middle - before, 100) << columns;  // beside the one before
      before = middle;
    }
  }
}

TEST(histogram_chart, of_nothing_or_of_what_is_none_has_no_picture) {
  EXPECT_TRUE(has(histogram_chart({{1000}, {0, 0}, 0}, "waits"), "None yet"));
  EXPECT_TRUE(has(histogram_chart({{1000}, {1, 2, 3}, 0}, "waits"), "None yet"));
  EXPECT_TRUE(has(histogram_chart({}, "waits"), "None yet"));
}

TEST(histogram_counts, a_quantile_lies_in_its_range) {
  const histogram_counts h{{1000, 2500, 5000}, {0, 99, 1, 0}, 0};
  EXPECT_GT(h.quantile_ns(500), 1000u);
  EXPECT_LE(h.quantile_ns(990), 2500u);
  EXPECT_GT(h.quantile_ns(999), 2500u);
  EXPECT_EQ(histogram_counts().quantile_ns(500), 0u);
}

}  // namespace
}  // namespace gar
