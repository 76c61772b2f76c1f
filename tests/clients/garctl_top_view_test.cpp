// What garctl top shows of two looks at the node, in any window, and what its keys do.
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "clients/garctl/readable.hpp"
#include "clients/garctl/top_view.hpp"

namespace gar {
namespace {

namespace json = boost::json;

std::string client(int id, const std::string& name, uint64_t completed, uint64_t waited_ns,
                   int pending = 0) {
  return R"({"id":)" + std::to_string(id) + R"(,"name":")" + name + R"(","completed":)" +
         std::to_string(completed) + R"(,"waited_ns":)" + std::to_string(waited_ns) +
         R"(,"pending":)" + std::to_string(pending) +
         R"(,"oldest_pending_ms":12,"kinds":{"blocked":0,"immediate":0,"late":0,"parked":)" +
         std::to_string(completed) + R"(},"told":{"samples":9,"p50_ns":1500,"p99_ns":40000}})";
}

class screen : public testing::Test {
 protected:
  void look(uint64_t at_ms, const std::string& entries, uint64_t completed = 0,
            uint64_t waited_ns = 0, uint64_t cpu_ms = 0) {
    top_look l;
    l.at_ns = at_ms * 1'000'000;
    l.list = view.list();
    l.entries =
        json::parse(R"({")" + std::string(name_of(view.list())) + R"(":[)" + entries + "]}");
    l.status = json::parse(R"({"version":"1","uptime_ms":)" + std::to_string(uptime_ms) +
                           R"(,"clients":1,"streams":2,"waits":{"completed":)" +
                           std::to_string(completed) + R"(,"waited_ns":)" +
                           std::to_string(waited_ns) + R"(,"pending":3,"oldest_pending_ms":12,)" +
                           R"("lost_store":0,"early_word":0,"failed":0},"process":{"cpu_ms":)" +
                           std::to_string(cpu_ms) + "}}");
    view.take(l);
  }
  std::string text(size_t columns = 80, size_t rows = 24) {
    std::string all;
    for (const top_view::line& each : view.lines(columns, rows)) all += each.text + '\n';
    return all;
  }
  // The lines that have this text.
  std::string line_with(const std::string& what) {
    for (const top_view::line& each : view.lines(80, 24)) {
      if (each.text.find(what) != std::string::npos) return each.text;
    }
    return {};
  }
  void keys(const std::string& typed) {
    for (const char c : typed) EXPECT_TRUE(view.key(c));
  }

  top_view view;
  uint64_t uptime_ms = 5000;
};

TEST_F(screen, rates_are_those_between_the_last_two_looks) {
  look(1000, client(1, "trainer", 100, 1'000'000'000));
  EXPECT_EQ(line_with("trainer").substr(23, 8), "       -");
  look(3000, client(1, "trainer", 500, 5'000'000'000, 7), 500, 4'000'000'000, 100);
  EXPECT_EQ(line_with("trainer"),
            "1: trainer                  200     7 12.0ms     0/0/0/100 1.50us 40.0us    2.00");
}

// Clients are numbered from 1 by each gard.
TEST_F(screen, a_gard_that_was_restarted_is_not_counted_on_from_the_one_before) {
  look(1000, client(1, "before", 100, 1'000'000'000), 100, 1'000'000'000, 100);
  uptime_ms = 40;
  look(3000, client(1, "after", 500, 5'000'000'000), 500, 5'000'000'000, 900);
  EXPECT_EQ(line_with("after").substr(23, 8), "       -");
  EXPECT_NE(line_with("waits/s").find(" 0.0 waits/s"), std::string::npos);
  EXPECT_EQ(line_with("given back"),
            "CPU given back: 0.00 cores (spinning would burn 0.00, gard takes 0.00)");
}

TEST_F(screen, cpu_given_back_is_what_spinning_would_burn_less_what_gard_takes) {
  look(1000, "", 10, 1'000'000'000, 50);
  look(3000, "", 30, 4'000'000'000, 150);
  EXPECT_EQ(line_with("given back"),
            "CPU given back: 1.45 cores (spinning would burn 1.50, gard takes 0.05)");
  EXPECT_NE(line_with("waits/s").find("10 waits/s"), std::string::npos);
}

TEST_F(screen, fits_every_window) {
  look(1000, client(1, "a", 1, 1));
  look(2000, client(1, std::string(60, 'n'), 1, 1) + "," + client(2, "\\u00e9\\u00e9", 2, 2));
  for (size_t columns = 1; columns < 200; columns += 3) {
    for (size_t rows = 1; rows < 40; rows += 3) {
      const auto lines = view.lines(columns, rows);
      EXPECT_LE(lines.size(), rows);
      for (const auto& each : lines) EXPECT_LE(columns_of(each.text), columns) << each.text;
    }
  }
}

TEST_F(screen, rows_are_sorted_by_what_a_key_says_and_the_other_way_by_it_again) {
  const std::string before = client(1, "slow", 0, 0, 1) + "," + client(2, "fast", 0, 0, 9);
  look(1000, before);
  look(2000, client(1, "slow", 10, 0, 9) + "," + client(2, "fast", 900, 0, 1));
  const auto first_is = [this](const char* name) {
    return view.lines(80, 24).at(5).text.find(name) == 3;
  };
  EXPECT_TRUE(first_is("fast"));
  keys("w");
  EXPECT_TRUE(first_is("slow"));
  keys("w");
  EXPECT_TRUE(first_is("fast"));
  keys("n");
  EXPECT_TRUE(first_is("slow"));  // by what is shown: 1 before 2
  keys("n");
  EXPECT_TRUE(first_is("fast"));
}

TEST_F(screen, a_filter_leaves_what_it_names_and_is_taken_back) {
  look(1000, client(1, "alpha", 1, 1) + "," + client(2, "beta", 1, 1));
  keys("/bet\n");
  EXPECT_EQ(line_with("alpha"), "");
  EXPECT_NE(line_with("2: beta"), "");
  EXPECT_NE(line_with("filter: bet"), "");
  keys("/q\x7fz");  // a q is typed, not obeyed
  EXPECT_EQ(line_with("2: beta"), "");
  EXPECT_NE(line_with("match the filter"), "");
  keys("\x1b");
  EXPECT_NE(line_with("alpha"), "");
}

TEST_F(screen, a_pause_keeps_what_is_shown) {
  look(1000, client(1, "first", 1, 1));
  keys(" ");
  look(2000, client(2, "second", 1, 1));
  EXPECT_NE(line_with("first"), "");
  EXPECT_NE(line_with("PAUSED"), "");
  keys(" ");
  look(3000, client(2, "second", 1, 1));
  EXPECT_EQ(line_with("first"), "");
}

TEST_F(screen, another_list_begins_anew) {
  look(1000, client(1, "a", 1, 1));
  keys("s");
  EXPECT_EQ(view.list(), top_list::streams);
  look(2000, R"({"client_id":1,"client":"a","stream":4,"stream_generation":1,"completed":3})");
  EXPECT_NE(line_with("1: stream 4, a"), "") << text();
  look(2500, R"({"client_id":1,"client":"a","stream":5,"name":"copies"})");
  EXPECT_NE(line_with("1: stream 5 copies, a"), "") << text();
  keys("p");
  look(3000, R"({"client_id":1,"client":"a","point":"step","stream":null,"waits":3})");
  EXPECT_NE(line_with("1: step, a"), "") << text();
}

TEST_F(screen, a_gard_that_is_gone_is_said_and_what_was_seen_stays) {
  look(1000, client(1, "a", 1, 1));
  view.failed("gard is not reachable");
  EXPECT_NE(line_with("gard is not reachable"), "");
  EXPECT_NE(line_with("1: a"), "");
}

TEST_F(screen, a_gard_that_is_gone_is_said_before_what_may_be_cut) {
  look(1000, client(1, "a", 1, 1));
  keys("/averylongfilter12345\n ");
  view.failed("gard is not reachable");
  EXPECT_NE(line_with("gard is not reachable"), "");
  EXPECT_NE(line_with("PAUSED"), "");
}

TEST_F(screen, wide_characters_take_their_columns_and_none_reorders_a_row) {
  std::string wide;
  for (int i = 0; i < 30; ++i) wide += "\\u6f22";
  look(1000, client(1, wide, 1, 1) + "," + client(2, "a\\u202eb\\ufeff", 1, 1));
  const std::string row = line_with("\u6f22");
  size_t characters = 0;
  for (const char c : row) characters += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  // "1: ", ten characters of two columns each, and the numbers.
  EXPECT_EQ(characters, 80u - 10u);
  EXPECT_EQ(columns_of(row), 80u);
  EXPECT_EQ(text().find("\u202e"), std::string::npos);
  EXPECT_EQ(text().find("\ufeff"), std::string::npos);
  EXPECT_NE(text().find("a\\xe2\\x80\\xaeb"), std::string::npos) << text();
  EXPECT_EQ(columns_of("e\u0301"), 1u);
}

TEST_F(screen, a_delay_that_rounds_up_keeps_its_row_in_the_window) {
  for (const std::string ns : {"9994", "9996", "99940", "99960", "9996000"}) {
    std::string entry = client(1, "trainer", 1, 1);
    entry.replace(entry.find("1500"), 4, ns);
    look(1000, entry);
    const std::string row = line_with("trainer");
    EXPECT_EQ(row.size(), 80u) << row;
    EXPECT_EQ(row.substr(row.size() - 4), "0.00") << row;
  }
  EXPECT_EQ(readable_ns(9'996), "10.0 us");
  EXPECT_EQ(readable_ns(99'960), "100 us");
}

TEST_F(screen, scrolling_beyond_the_end_is_taken_back_at_once) {
  std::string many = client(1, "a", 1, 1);
  for (int i = 2; i <= 50; ++i) many += "," + client(i, "x", 1, 1);
  look(1000, many);
  EXPECT_NE(line_with("1: a"), "");
  keys(std::string(500, 'j'));
  EXPECT_NE(line_with("50: x"), "");
  EXPECT_TRUE(view.key(top_view::up_key));
  EXPECT_EQ(line_with("50: x"), "");
  EXPECT_NE(line_with("49: x"), "");
}

TEST_F(screen, an_arrow_is_no_part_of_a_filter) {
  look(1000, client(1, "a", 1, 1));
  keys("/");
  EXPECT_TRUE(view.key(top_view::up_key));
  EXPECT_TRUE(view.key(top_view::down_key));
  EXPECT_NE(line_with("filter: _"), "");
}

TEST_F(screen, q_ends_it_and_scrolling_stops_at_the_ends) {
  std::string many = client(1, "a", 1, 1);
  for (int i = 2; i <= 50; ++i) many += "," + client(i, "x", 1, 1);
  look(1000, many);
  keys("kkk");
  EXPECT_NE(line_with("1: a"), "");
  keys(std::string(500, 'j'));
  EXPECT_NE(line_with("50: x"), "");
  EXPECT_FALSE(view.key('q'));
}

TEST_F(screen, an_empty_node_and_an_answer_of_another_version_are_shown) {
  EXPECT_NE(text(), "");
  look(1000, "");
  EXPECT_NE(line_with("no clients yet"), "");
  look(2000, "{},7,null");
  EXPECT_NE(line_with("?: ?"), "");
}

}  // namespace
}  // namespace gar
