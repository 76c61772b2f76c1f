// The grammar of wait plans: every refusal with its position, the ranges, labels, bands.
#include "lib/core/plan.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace gar {
namespace {

constexpr std::string_view flag_text = "flag:park_us=100,backstop_us=10000";
constexpr std::string_view predict_text =
    "+predict:margin_us=200,min_sleep_us=50,max_sleep_us=50000,window=8";

bands parsed(std::string_view text) {
  plan_fault fault;
  std::optional<bands> b = bands::parse(text, fault);
  EXPECT_TRUE(b) << text << " at " << fault.position << ": " << fault.fault;
  return b ? *b : bands(plan{});
}

// The refused text and where; the fault's words must contain `saying`.
void refuses(std::string_view text, size_t position, std::string_view saying) {
  plan_fault fault;
  EXPECT_FALSE(bands::parse(text, fault)) << text;
  EXPECT_EQ(fault.position, position) << text << ": " << fault.fault;
  EXPECT_NE(fault.fault.find(saying), std::string::npos) << text << ": " << fault.fault;

  result<bands> r = bands::parse(text);
  ASSERT_TRUE(r.has_error()) << text;
  EXPECT_EQ(r.error().code(), errc::InvalidPlan);
  ASSERT_EQ(r.error().arguments().size(), 2u);
  EXPECT_EQ(r.error().arguments()[1], "at byte " + std::to_string(position) + ": " + fault.fault);
}

std::string flag_with(std::string_view keys) {
  return "flag:" + std::string(keys);
}
std::string poll_with(std::string_view keys) {
  return "poll+predict:" + std::string(keys);
}

TEST(plan, reads_each_park_into_nanoseconds) {
  EXPECT_EQ(parsed("block").select(0), (plan{park_kind::block, {}, {}, {}}));
  EXPECT_EQ(parsed("poll").select(0), (plan{park_kind::poll, {}, {}, {}}));
  EXPECT_EQ(parsed(flag_text).select(0), (plan{park_kind::flag, {100'000}, {10'000'000}, {}}));
  const plan shipped = parsed(plan_as_shipped).select(0);
  EXPECT_EQ(shipped, (plan{park_kind::flag,
                           {100'000},
                           {10'000'000},
                           prediction{{200'000}, {50'000}, {50'000'000}, 8}}));
}

TEST(plan, takes_keys_in_any_order_and_labels_them_in_the_grammars) {
  const std::string mixed =
      "flag:backstop_us=10000,park_us=100+predict:window=8,max_sleep_us=50000,margin_us=200,"
      "min_sleep_us=50";
  EXPECT_EQ(parsed(mixed), parsed(plan_as_shipped));
  EXPECT_EQ(parsed(mixed).label(), plan_as_shipped);
}

TEST(plan, refuses_an_empty_text_at_its_start) {
  refuses("", 0, "found the end");
}

TEST(plan, refuses_an_unknown_park) {
  refuses("spin", 0, "unknown plan 'spin'");
  refuses("blocks", 0, "unknown plan 'blocks'");
  refuses("Poll", 0, "unknown plan 'Poll'");
  refuses("+predict:window=8", 0, "expected a plan");
  refuses("block;rows>=4:spin", 14, "unknown plan 'spin'");
}

TEST(plan, refuses_an_unknown_key_at_the_key) {
  refuses(flag_with("park_us=100,foo=1,backstop_us=1"), 17, "unknown key 'foo'");
  refuses(flag_with("parkus=100"), 5, "unknown key 'parkus'");
  refuses(flag_with("margin_us=100"), 5, "unknown key 'margin_us'");
  refuses(poll_with("park_us=1"), 13, "unknown key 'park_us'");
  refuses(std::string(flag_text) + ",foo=1", flag_text.size() + 1, "unknown key 'foo'");
}

TEST(plan, refuses_a_key_given_twice_at_the_second) {
  refuses(flag_with("park_us=100,park_us=100,backstop_us=1"), 17, "given twice");
  refuses(std::string(flag_text) + ",backstop_us=1", flag_text.size() + 1, "given twice");
  refuses(poll_with("window=8,window=8"), 22, "key 'window' is given twice");
}

TEST(plan, refuses_a_missing_key_at_the_end_of_its_list) {
  refuses("flag", 4, "expected ':'");
  refuses("flag:", 5, "missing key 'park_us'");
  refuses("flag:park_us=100", 16, "missing key 'backstop_us'");
  refuses("flag:park_us=100,", 17, "missing key 'backstop_us'");
  refuses("flag:backstop_us=100;rows>=8:poll", 20, "missing key 'park_us'");
  refuses("flag:park_us=100+predict:window=8", 16, "missing key 'backstop_us'");
  for (std::string_view left_out : {"margin_us=200,", "min_sleep_us=50,", "max_sleep_us=50000,"}) {
    std::string text = "poll" + std::string(predict_text);
    text.erase(text.find(left_out), left_out.size());
    refuses(text, text.size(), "missing key '" + std::string(left_out.substr(0, 9)));
  }
  refuses(poll_with("margin_us=200,min_sleep_us=50,max_sleep_us=50000"), 61,
          "missing key 'window'");
}

TEST(plan, refuses_what_is_out_of_range_at_the_number) {
  refuses(flag_with("park_us=0,backstop_us=1"), 13, "park_us is out of range 1..10000");
  refuses(flag_with("park_us=10001,backstop_us=1"), 13, "out of range");
  refuses(flag_with("park_us=1,backstop_us=0"), 27, "backstop_us is out of range 1..1000000");
  refuses(flag_with("park_us=1,backstop_us=1000001"), 27, "out of range");
  refuses(poll_with("margin_us=1000001"), 23, "out of range");
  refuses(poll_with("min_sleep_us=10000001"), 26, "out of range");
  refuses(poll_with("max_sleep_us=10000001"), 26, "out of range");
  refuses(poll_with("window=0"), 20, "window is out of range 1..16");
  refuses(poll_with("window=17"), 20, "out of range");
}

TEST(plan, takes_each_end_of_each_range) {
  parsed(flag_with("park_us=1,backstop_us=1"));
  parsed(flag_with("park_us=10000,backstop_us=1000000"));
  parsed(poll_with("margin_us=0,min_sleep_us=0,max_sleep_us=0,window=1"));
  parsed(poll_with("margin_us=1000000,min_sleep_us=10000000,max_sleep_us=10000000,window=16"));
}

TEST(plan, refuses_a_shortest_sleep_above_the_longest_at_the_later_number) {
  refuses(poll_with("margin_us=0,min_sleep_us=5,max_sleep_us=3,window=8"), 53, "above");
  refuses(poll_with("margin_us=0,max_sleep_us=3,min_sleep_us=5,window=8"), 53, "above");
}

TEST(plan, refuses_signs_leading_zeros_and_overflow_at_the_number) {
  refuses(flag_with("park_us=+1,backstop_us=1"), 13, "sign");
  refuses(flag_with("park_us=-1,backstop_us=1"), 13, "sign");
  refuses(flag_with("park_us=01,backstop_us=1"), 13, "leading zero");
  refuses(flag_with("park_us=00,backstop_us=1"), 13, "leading zero");
  refuses(flag_with("park_us=18446744073709551616,backstop_us=1"), 13, "out of range");
  refuses(flag_with("park_us=18446744073709551617,backstop_us=1"), 13, "out of range");
  refuses(flag_with("park_us=" + std::string(300, '9')), 13, "out of range");
  refuses("block;rows>=4294967296:poll", 12, "out of range");
  refuses("block;rows>=-1:poll", 12, "sign");
  refuses("block;rows>=032:poll", 12, "leading zero");
}

TEST(plan, refuses_what_is_no_number) {
  refuses(flag_with("park_us=,backstop_us=1"), 13, "expected a number, found ','");
  refuses(flag_with("park_us="), 13, "expected a number, found the end");
  refuses(flag_with("park_us=1.5,backstop_us=1"), 14, "found '.'");
  refuses(flag_with("park_us=1us,backstop_us=1"), 14, "found 'u'");
  refuses(flag_with("park_us:1"), 12, "expected '='");
  refuses(flag_with("park_us"), 12, "expected '='");
}

TEST(plan, refuses_blanks_at_the_blank) {
  refuses(" poll", 0, "blanks");
  refuses("poll ", 4, "blanks");
  refuses("poll\n", 4, "blanks");
  refuses("po ll", 2, "blanks");
  refuses("flag: park_us=100,backstop_us=1", 5, "blanks");
  refuses("flag:pa rk_us=100,backstop_us=1", 7, "blanks");
  refuses("flag:park_us =100,backstop_us=1", 12, "blanks");
  refuses("flag:park_us= 100,backstop_us=1", 13, "blanks");
  refuses("flag:park_us=1 00,backstop_us=1", 14, "blanks");
  refuses("flag:park_us=100, backstop_us=1", 17, "blanks");
  refuses("flag:park_us=100,backstop_us=1 ", 30, "blanks");
  refuses("block; rows>=32:poll", 6, "blanks");
  refuses("block;rows >=32:poll", 10, "blanks");
  refuses("block;rows>=\t32:poll", 12, "blanks");
  refuses("block;rows>=32: poll", 15, "blanks");
}

TEST(plan, refuses_a_prediction_for_block_at_the_plus) {
  refuses("block" + std::string(predict_text), 5, "block takes no prediction");
  refuses("poll;rows>=9:block" + std::string(predict_text), 18, "block takes no prediction");
}

TEST(plan, refuses_a_broken_prediction) {
  refuses("poll+", 5, "expected 'predict:'");
  refuses("poll+predikt:window=8", 5, "unknown word 'predikt'");
  refuses("poll+predict", 12, "expected ':'");
  refuses("poll" + std::string(predict_text) + "+predict:window=8", 4 + predict_text.size(),
          "expected ';' or the end, found '+'");
}

TEST(plan, refuses_edges_that_do_not_rise_at_the_edge) {
  refuses("block;rows>=0:poll", 12, "edge 0 does not rise above 0");
  refuses("block;rows>=32:poll;rows>=32:block", 26, "does not rise above 32");
  refuses("block;rows>=32:poll;rows>=31:block", 26, "edge 31 does not rise above 32");
}

TEST(plan, refuses_a_broken_edge) {
  refuses("block;", 6, "expected 'rows>='");
  refuses("block;row>=3:poll", 6, "unknown word 'row'");
  refuses("block;rows=3:poll", 10, "expected '>'");
  refuses("block;rows>3:poll", 11, "expected '='");
  refuses("block;rows>=3poll", 13, "expected ':'");
  refuses("block;rows>=3:", 14, "expected a plan");
  refuses(";rows>=3:poll", 0, "expected a plan");
}

TEST(plan, refuses_a_fifth_band_at_its_semicolon) {
  const std::string four = "block;rows>=1:poll;rows>=2:block;rows>=3:poll";
  EXPECT_EQ(parsed(four).count(), 4u);
  refuses(four + ";rows>=4:block", four.size(), "more than 4 bands");
}

TEST(plan, refuses_what_follows_a_plan) {
  refuses("pollx", 0, "unknown plan 'pollx'");
  refuses("poll:window=8", 4, "expected ';' or the end");
  refuses("block,poll", 5, "found ','");
}

TEST(plan, refuses_more_than_512_bytes_unread) {
  refuses(std::string(513, 'x'), 512, "longer than 512 bytes");
  refuses(std::string(1 << 20, ' '), 512, "longer than 512 bytes");
  refuses(std::string(512, ' '), 0, "blanks");
}

TEST(plan, refuses_hostile_bytes_with_a_text_that_can_be_printed) {
  using namespace std::string_view_literals;
  refuses("\0"sv, 0, "found '\\x00'");
  refuses("poll\0"sv, 4, "found '\\x00'");
  refuses("poll\0;rows>=1:block"sv, 4, "found '\\x00'");
  refuses("flag:park_us=1\0"sv, 14, "found '\\x00'");
  refuses("flag:\xff\xfe=1"sv, 5, "found '\\xff'");
  refuses("pol\xc3\xa9"sv, 0, "unknown plan 'pol'");
  result<bands> r = bands::parse("poll\0\xff\n"sv);
  EXPECT_EQ(r.error().arguments()[0], "poll\\x00\\xff\\x0a");
  EXPECT_LE(bands::parse(std::string(5000, '\xff')).error().text().size(), 1024u);
}

TEST(plan, the_error_reads_as_a_person_needs_it) {
  EXPECT_EQ(bands::parse("flag:park_us=100").error().headline(),
            "0x0001 InvalidPlan: invalid plan 'flag:park_us=100': at byte 16: missing key "
            "'backstop_us'");
}

TEST(plan, an_edge_belongs_to_its_own_band) {
  const bands b = parsed("block;rows>=32:poll");
  EXPECT_EQ(b.select(0).park, park_kind::block);
  EXPECT_EQ(b.select(31).park, park_kind::block);
  EXPECT_EQ(b.select(32).park, park_kind::poll);
  EXPECT_EQ(b.select(4'294'967'295).park, park_kind::poll);
  EXPECT_EQ(b.select_index(31), 0u);
  EXPECT_EQ(b.select_index(32), 1u);
}

TEST(plan, the_last_edge_may_be_the_greatest_row_count) {
  const bands b = parsed("block;rows>=4294967295:poll");
  EXPECT_EQ(b.select_index(4'294'967'294), 0u);
  EXPECT_EQ(b.select_index(4'294'967'295), 1u);
}

TEST(plan, equal_bands_are_not_merged) {
  EXPECT_EQ(parsed("poll;rows>=8:poll").label(), "poll;rows>=8:poll");
}

uint64_t seed() {
  const char* given = std::getenv("GAR_TEST_SEED");
  return given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

struct generator {
  std::mt19937_64 random;

  uint64_t between(uint64_t low, uint64_t high) {
    // Ends and small numbers are likelier than chance makes them.
    switch (random() % 6) {
      case 0:
        return low;
      case 1:
        return high;
      default:
        return std::uniform_int_distribution<uint64_t>(low, high)(random);
    }
  }
  std::string number(std::string_view name, uint64_t low, uint64_t high) {
    return std::string(name) + "=" + std::to_string(between(low, high));
  }
  std::string shuffled(std::vector<std::string> keys) {
    std::shuffle(keys.begin(), keys.end(), random);
    std::string text;
    for (const std::string& k : keys) text += (text.empty() ? "" : ",") + k;
    return text;
  }
  std::string plan() {
    const uint64_t kind = random() % 3;
    if (kind == 0) return "block";
    std::string text = "poll";
    if (kind == 1) {
      text =
          "flag:" + shuffled({number("park_us", 1, 10'000), number("backstop_us", 1, 1'000'000)});
    }
    if (random() % 2) {
      const uint64_t longest = between(0, 10'000'000);
      text += "+predict:" +
              shuffled({number("margin_us", 0, 1'000'000), number("min_sleep_us", 0, longest),
                        "max_sleep_us=" + std::to_string(longest), number("window", 1, 16)});
    }
    return text;
  }
  std::string text() {
    std::string t = plan();
    uint64_t edge = 0;
    for (uint64_t more = random() % 4; more > 0; --more) {
      edge = between(edge + 1, 4'294'967'295 - more);
      t += ";rows>=" + std::to_string(edge) + ":" + plan();
    }
    return t;
  }
};

TEST(plan, labels_of_generated_plans_parse_back_to_the_same_plan) {
  const uint64_t s = seed();
  SCOPED_TRACE("GAR_TEST_SEED=" + std::to_string(s));
  std::printf("GAR_TEST_SEED=%llu\n", static_cast<unsigned long long>(s));
  generator g{std::mt19937_64(s)};
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = g.text();
    if (text.size() > proto::plan_bytes_max) continue;
    const bands b = parsed(text);
    const std::string label = b.label();
    ASSERT_EQ(label.size(), text.size()) << "nothing is said twice and nothing is left out";
    ASSERT_EQ(parsed(label), b) << text;
    ASSERT_EQ(parsed(label).label(), label) << text;
  }
}

TEST(plan, generated_damage_is_refused_in_place_or_is_a_plan) {
  const uint64_t s = seed();
  SCOPED_TRACE("GAR_TEST_SEED=" + std::to_string(s));
  std::printf("GAR_TEST_SEED=%llu\n", static_cast<unsigned long long>(s));
  generator g{std::mt19937_64(s)};
  for (int i = 0; i < 20'000; ++i) {
    std::string text = g.text();
    for (uint64_t hits = 1 + g.random() % 3; hits > 0; --hits) {
      const size_t at = g.random() % text.size();
      if (g.random() % 2) {
        text[at] = static_cast<char>(g.random());
      } else {
        text.erase(at, 1 + g.random() % 8);
      }
      if (text.empty()) break;
    }
    plan_fault fault;
    const std::optional<bands> b = bands::parse(text, fault);
    if (b) {
      ASSERT_EQ(parsed(b->label()), *b) << text;
    } else {
      ASSERT_LE(fault.position, text.size()) << text;
      ASSERT_FALSE(fault.fault.empty()) << text;
    }
  }
}

}  // namespace
}  // namespace gar
