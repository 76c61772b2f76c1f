// The configuration: what is read, every refusal with its place, and the text that reads back.
#include "daemon/config.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <random>
#include <sstream>
#include <string>

namespace gar {
namespace {

config parsed(std::string_view text) {
  result<config> c = parse_config(text, "gard.toml");
  EXPECT_TRUE(c) << text << "\n" << (c ? "" : c.error().text());
  return c ? *c : config{};
}

// The text is refused at this place, and the sentence has these words.
void refuses(std::string_view text, int line, int column, std::string_view saying) {
  const result<config> c = parse_config(text, "gard.toml");
  ASSERT_TRUE(c.has_error()) << text;
  EXPECT_EQ(c.error().code(), errc::InvalidConfig);
  const std::string place =
      "gard.toml:" + std::to_string(line) + ":" + std::to_string(column) + ": ";
  EXPECT_EQ(c.error().text().substr(0, place.size()), place) << c.error().text();
  EXPECT_NE(c.error().text().find(saying), std::string::npos) << c.error().text();
}

std::string file_text(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

const std::string shipped_file = std::string(GAR_SOURCE_DIR) + "/config/gard.toml";

TEST(config, an_empty_file_is_the_built_in_values) {
  EXPECT_EQ(config_text(parsed("")), config_text(config{}));
  EXPECT_EQ(parsed("").default_plan.label(), plan_as_shipped);
  EXPECT_EQ(parsed("").executor.kind, executor_kind::gpu_reactor);
  EXPECT_TRUE(parsed("").executor.software_word_wait);
  EXPECT_FALSE(parsed("").latency.cpu_dma_latency);
}

TEST(config, the_shipped_file_is_exactly_the_built_in_values) {
  EXPECT_EQ(config_text(parsed(file_text(shipped_file))), config_text(config{}));
}

TEST(config, the_shipped_file_documents_every_key) {
  const std::string text = file_text(shipped_file);
  for (const std::string& key : config_keys()) {
    const size_t dot = key.find('.');
    const std::string section = key.substr(0, dot);
    std::string name = key.substr(dot + 1);
    size_t from = text.find("\n[" + section + "]\n");
    ASSERT_NE(from, std::string::npos) << key;
    size_t to = text.find("\n[", from + 1);
    const std::string body = text.substr(from, to - from);
    const size_t name_end = name.find('.');
    if (name_end != std::string::npos) {  // a table of plans: its header stands in a comment
      EXPECT_NE(body.find("\n# [plan." + name.substr(0, name_end)), std::string::npos) << key;
      continue;
    }
    const bool set = body.find("\n" + name + " = ") != std::string::npos;
    const bool shown = body.find("\n# " + name + " = ") != std::string::npos;
    EXPECT_TRUE(set || shown) << key;
  }
}

TEST(config, every_key_of_the_shipped_file_is_read_when_its_comment_mark_is_taken_away) {
  std::stringstream lines(file_text(shipped_file));
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    const bool hidden = line.starts_with("# ") &&
                        (line.find(" = ") != std::string::npos || line.starts_with("# [plan."));
    text += (hidden ? line.substr(2) : line) + "\n";
  }
  const config c = parsed(text);
  EXPECT_EQ(c.daemon.socket, "/run/gard/gard.sock");
  EXPECT_EQ(c.daemon.control, "/run/gard-control/control.sock");
  EXPECT_EQ(c.latency.cpu, 3u);
  EXPECT_EQ(c.plans.size(), 3u);
}

constexpr std::string_view everything_set = R"(
[daemon]
socket = "/a \"b\"\\/gard.sock"
control = "/c"
[executor]
kind = "naive"
strictness = "strict"
software_word_wait = false
software_spin = "0us"
software_sleep = "1500ns"
[latency]
cpu_dma_latency = true
cpu = 0
scheduling = "fifo:99"
[plan]
default = "block;rows>=32:poll"
clients.'a "b"\' = "poll"
points = { "é" = "block" }
[plan.client_points.trainer]
"end of batch" = "flag:backstop_us=7,park_us=5"
[limits]
clients = 1
clients_per_user = 2
streams_per_client = 3
streams_per_user = 4
waits_per_client = 5
waits_per_user = 6
ring_entries = 64
pages_per_client = 7
runtime_plans = 8
unread_bytes_per_client = "65KiB"
unread_bytes_per_user = "66KiB"
naive_workers = 9
[log]
level = "debug"
)";

TEST(config, reads_every_key) {
  const config c = parsed(everything_set);
  EXPECT_EQ(c.daemon.socket, "/a \"b\"\\/gard.sock");
  EXPECT_EQ(c.daemon.control, "/c");
  EXPECT_EQ(c.executor.kind, executor_kind::naive);
  EXPECT_EQ(c.executor.strictness, strictness::strict);
  EXPECT_FALSE(c.executor.software_word_wait);
  EXPECT_EQ(c.executor.software_spin, duration{0});
  EXPECT_EQ(c.executor.software_sleep, duration{1500});
  EXPECT_TRUE(c.latency.cpu_dma_latency);
  EXPECT_EQ(c.latency.cpu, 0u);
  EXPECT_EQ(c.latency.fifo_priority, 99u);
  EXPECT_EQ(c.default_plan.label(), "block;rows>=32:poll");
  EXPECT_EQ(c.limits.clients, 1u);
  EXPECT_EQ(c.limits.clients_per_user, 2u);
  EXPECT_EQ(c.limits.streams_per_client, 3u);
  EXPECT_EQ(c.limits.streams_per_user, 4u);
  EXPECT_EQ(c.limits.waits_per_client, 5u);
  EXPECT_EQ(c.limits.waits_per_user, 6u);
  EXPECT_EQ(c.limits.ring_entries, 64u);
  EXPECT_EQ(c.limits.pages_per_client, 7u);
  EXPECT_EQ(c.limits.runtime_plans, 8u);
  EXPECT_EQ(c.limits.unread_bytes_per_client, 65u << 10);
  EXPECT_EQ(c.limits.unread_bytes_per_user, 66u << 10);
  EXPECT_EQ(c.limits.naive_workers, 9u);
  EXPECT_EQ(c.log_level, log_level::debug);
}

TEST(config, reads_plans_for_a_client_a_point_and_a_point_of_a_client) {
  const config c = parsed(everything_set);
  ASSERT_EQ(c.plans.size(), 3u);
  EXPECT_EQ(c.plans[0].scope, (plan_scope{"trainer", "end of batch"}));
  EXPECT_EQ(c.plans[0].requested.label(), "flag:park_us=5,backstop_us=7");
  EXPECT_EQ(c.plans[1].scope, (plan_scope{"a \"b\"\\", std::nullopt}));
  EXPECT_EQ(c.plans[2].scope, (plan_scope{std::nullopt, "é"}));
}

TEST(config, text_reads_back_to_the_same) {
  for (const config& c : {config{}, parsed(everything_set)}) {
    EXPECT_EQ(config_text(parsed(config_text(c))), config_text(c));
  }
}

TEST(config, refuses_an_unknown_key_where_it_stands_and_names_the_known_ones) {
  refuses("[executor]\n  knid = \"naive\"\n", 2, 3, "kind, strictness");
  refuses("\n[exekutor]\n", 2, 2, "[executor]");
  refuses("kind = \"naive\"\n", 1, 1, "sections");
  refuses("[plan]\nclient.a = \"poll\"\n", 2, 1, "clients");
}

TEST(config, refuses_a_wrong_type_and_says_what_was_expected_and_found) {
  refuses("[executor]\nsoftware_word_wait = \"yes\"\n", 2, 22, "true or false; found 'yes'");
  refuses("[latency]\ncpu_dma_latency = \"0us\"\n", 2, 19, "true or false; found '0us'");
  refuses("[limits]\nclients = \"many\"\n", 2, 11, "a whole number from 1 to 65536");
  refuses("[limits]\nclients = 1.5\n", 2, 11, "a number with a fraction");
  refuses("[executor]\nkind = [\"naive\"]\n", 2, 8, "found an array");
  refuses("[log]\nlevel = 1979-05-27\n", 2, 9, "a date or time");
  refuses("executor = 3\n", 1, 12, "expected a section, [executor]");
  refuses("[[executor]]\n", 1, 1, "an array");
  refuses("[plan]\ndefault = true\n", 2, 11, "a plan as a string");
  refuses("[plan]\nclients = \"poll\"\n", 2, 11, "a table of plans");
  refuses("[plan.client_points]\na = \"poll\"\n", 2, 5, "a table of plans");
}

TEST(config, refuses_a_bare_number_where_a_unit_belongs) {
  refuses("[executor]\nsoftware_spin = 20\n", 2, 17, "a duration with its unit");
  refuses("[executor]\nsoftware_sleep = \"20\"\n", 2, 18, "found '20'");
  refuses("[limits]\nunread_bytes_per_client = 1048576\n", 2, 27, "the bare number 1048576");
  refuses("[limits]\nunread_bytes_per_client = \"1048576\"\n", 2, 27, "with its unit");
}

TEST(config, refuses_what_is_out_of_range) {
  refuses("[executor]\nsoftware_spin = \"11ms\"\n", 2, 17, "to \"10ms\"");
  refuses("[limits]\nclients = 0\n", 2, 11, "from 1 to 65536");
  refuses("[limits]\nclients = -1\n", 2, 11, "from 1 to 65536");
  refuses("[limits]\nclients = 65537\n", 2, 11, "from 1 to 65536");
  refuses("[limits]\npages_per_client = 17\n", 2, 20, "from 1 to 16");
  refuses("[limits]\nunread_bytes_per_client = \"63KiB\"\n", 2, 27, "from \"64KiB\"");
  refuses("[limits]\nunread_bytes_per_client = \"65MiB\"\n", 2, 27, "to \"64MiB\"");
  refuses("[latency]\ncpu = 1024\n", 2, 7, "from 0 to 1023");
  refuses("[latency]\ncpu = -1\n", 2, 7, "from 0 to 1023");
  for (const char* bad : {"fifo", "fifo:", "fifo:0", "fifo:100", "fifo:1x", "fifo:-1", "rr:1"}) {
    refuses("[latency]\nscheduling = \"" + std::string(bad) + "\"\n", 2, 14, "fifo:N");
  }
}

TEST(config, refuses_names_that_are_none_of_the_accepted) {
  refuses("[executor]\nkind = \"gpu\"\n", 2, 8, "io-uring, gpu-reactor, naive");
  refuses("[executor]\nstrictness = \"lax\"\n", 2, 14, "fallback, strict");
  refuses("[log]\nlevel = \"loud\"\n", 2, 9, "debug, info, warning, error");
  refuses("[daemon]\nsocket = \"gard.sock\"\n", 2, 10, "absolute path");
  refuses("[daemon]\nsocket = \"\"\n", 2, 10, "absolute path");
  refuses("[daemon]\nsocket = \"/a\\u0000b\"\n", 2, 10, "absolute path");
  refuses("[daemon]\nsocket = \"/" + std::string(107, 'x') + "\"\n", 2, 10, "107 bytes");
}

TEST(config, refuses_an_invalid_plan_at_its_fault) {
  refuses("[plan]\ndefault = \"poll;rows>=0:poll\"\n", 2, 12 + 11, "at byte 11");
  refuses("[plan]\ndefault = 'flag:park_us=0,backstop_us=1'\n", 2, 12 + 13, "out of range");
  refuses("[plan.clients]\n\"a\" = \"spin\"\n", 2, 8, "unknown plan 'spin'");
  refuses("[plan.client_points.a]\nb = \"\"\n", 2, 6, "at byte 0");
}

TEST(config, refuses_an_invalid_plan_at_its_value_where_the_fault_has_no_column) {
  refuses("[plan]\ndefault = \"p\\u006fll+x\"\n", 2, 11, "at byte 5");
  refuses("[plan]\ndefault = \"\"\"\npoll+x\"\"\"\n", 2, 11, "at byte 5");
}

TEST(config, refuses_names_that_no_client_can_have) {
  refuses("[plan.clients]\n\"\" = \"poll\"\n", 2, 1, "1 to 63 bytes");
  refuses("[plan.points]\n\"a\\tb\" = \"poll\"\n", 2, 1, "1 to 63 bytes");
  refuses("[plan.points]\n" + std::string(64, 'a') + " = \"poll\"\n", 2, 1, "1 to 63 bytes");
  refuses("[plan.client_points.\"\"]\nb = \"poll\"\n", 1, 21, "1 to 63 bytes");
}

TEST(config, refuses_more_plans_than_are_kept) {
  std::string text = "[plan.clients]\n";
  for (size_t i = 0; i < configured_plans_max; ++i) text += "c" + std::to_string(i) + "='poll'\n";
  EXPECT_EQ(parsed(text).plans.size(), configured_plans_max);
  EXPECT_TRUE(parse_config(text + "d = 'poll'\n", "f").has_error());
}

TEST(config, tells_the_first_fault_of_the_file) {
  refuses("[log]\nlevel = 1\n[executor]\nkind = 2\n", 2, 9, "log.level");
}

TEST(config, refuses_what_is_no_toml_where_it_stops_being_it) {
  refuses("[executor]\nkind = \n", 2, 8, "");
  refuses("[executor]\nkind = \"naive\"\nkind = \"naive\"\n", 3, 8, "kind");
  refuses("[executor\n", 1, 10, "");
}

std::string dotted(size_t parts) {
  std::string key = "a";
  for (size_t i = 1; i < parts; ++i) key += ".a";
  return key;
}

// The parser's recursion took the stack of a running gard.
TEST(config, refuses_keys_of_very_many_parts_where_they_have_too_many) {
  const std::string deep = dotted(50'000);
  refuses("[" + deep + "]\n", 1, 17, "more than 8 parts");
  refuses("[[" + deep + "]]\n", 1, 18, "more than 8 parts");
  refuses(deep + " = 1\n", 1, 16, "more than 8 parts");
  refuses("[log]\n" + deep + " = 1\n", 2, 16, "more than 8 parts");
  refuses("x = { y = 1, " + deep + " = 1 }\n", 1, 29, "more than 8 parts");
  const std::string nine = dotted(9) + " = 1\n";
  refuses("# '\n" + nine, 2, 16, "more than 8 parts");
  refuses("x = \"a\\\"b\"\n" + nine, 2, 16, "more than 8 parts");
  refuses("x = \"\"\"\n\"\"\"\"\"\n" + nine, 3, 16, "more than 8 parts");
  refuses("x = '''\n\\''''\n" + nine, 3, 16, "more than 8 parts");
  refuses("\"\xc3\xa9.\" . 'b.' . a.a.a.a.a.a.a = 1\n", 1, 26, "more than 8 parts");
  refuses(dotted(8) + " = 1\n", 1, 1, "unknown key 'a'");
}

TEST(config, takes_any_number_of_dots_in_names_texts_and_comments) {
  const std::string dots(50, '.');
  const config c = parsed("# " + dots + "\n[plan]\nclients.'" + dots + "' = \"poll\" # " + dots +
                          "\n[plan.points]\n\"\\\"" + dots + "\" = '''poll'''\n");
  EXPECT_EQ(c.plans.size(), 2u);
}

// The parser bounds the values, and not the parts of the keys that lead to them.
TEST(config, refuses_values_nested_in_deep_keys_without_dying) {
  std::string open;
  std::string close;
  for (int i = 0; i < 300; ++i) {
    open += "{ " + dotted(8) + " = ";
    close += " }";
    const result<config> c = parse_config("x = " + open + "1" + close + "\n", "gard.toml");
    ASSERT_TRUE(c.has_error());
    EXPECT_EQ(c.error().code(), errc::InvalidConfig);
  }
}

TEST(config, refuses_malformed_bytes_without_dying) {
  for (std::string_view bad : {std::string_view("\xEF\xBB\x8A\x5B"), std::string_view("[\n--"),
                               std::string_view("\0\0\0", 3), std::string_view("\xff\xfe"),
                               std::string_view("a = \"\xc3\x28\"")}) {
    const result<config> c = parse_config(bad, "gard.toml");
    ASSERT_TRUE(c.has_error());
    EXPECT_EQ(c.error().code(), errc::InvalidConfig);
  }
}

TEST(config, survives_damaged_copies_of_the_shipped_file) {
  const std::string whole = file_text(shipped_file);
  const unsigned seed = 20240607;
  std::mt19937 random(seed);
  for (int round = 0; round < 400; ++round) {
    std::string damaged = whole;
    for (int i = 0; i < 3; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    damaged.resize(1 + random() % damaged.size());
    const result<config> c = parse_config(damaged, "gard.toml");
    if (c) continue;
    EXPECT_EQ(c.error().code(), errc::InvalidConfig) << "seed " << seed;
  }
}

class config_file : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(::mkdtemp(directory_.data())); }
  void TearDown() override {
    ::unlink(path().c_str());
    ::rmdir(directory_.c_str());
  }
  std::string path() const { return directory_ + "/gard.toml"; }
  void write(std::string_view text) const { std::ofstream(path()) << text; }

  std::string directory_ = testing::TempDir() + "gar-config-XXXXXX";
};

TEST_F(config_file, is_read_whole) {
  write("[limits]\nclients = 5\n");
  EXPECT_EQ(read_config(path())->limits.clients, 5u);
}

TEST_F(config_file, that_cannot_be_read_says_why) {
  const auto absent = read_config(path());
  ASSERT_TRUE(absent.has_error());
  EXPECT_NE(absent.error().text().find("No such file"), std::string::npos) << absent.error().text();
  const auto no_file = read_config(directory_);
  ASSERT_TRUE(no_file.has_error());
  EXPECT_NE(no_file.error().text().find("directory"), std::string::npos) << no_file.error().text();
}

TEST_F(config_file, that_is_no_regular_file_is_refused_without_a_wait_for_its_writer) {
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  const auto pipe = read_config(path());
  ASSERT_TRUE(pipe.has_error());
  EXPECT_EQ(pipe.error().code(), errc::InvalidConfig);
  EXPECT_NE(pipe.error().text().find("is a pipe, no regular file"), std::string::npos)
      << pipe.error().text();
  const auto device = read_config("/dev/null");
  ASSERT_TRUE(device.has_error());
  EXPECT_NE(device.error().text().find("is a device, no regular file"), std::string::npos);
}

TEST_F(config_file, may_be_a_symbolic_link_to_one) {
  const std::string target = directory_ + "/target";
  std::ofstream(target) << "[limits]\nclients = 5\n";
  ASSERT_EQ(::symlink("target", path().c_str()), 0);
  EXPECT_EQ(read_config(path())->limits.clients, 5u);
  ::unlink(target.c_str());
}

TEST_F(config_file, that_is_too_large_is_refused) {
  write(std::string(config_bytes_max, '\n'));
  EXPECT_TRUE(read_config(path()));
  write(std::string(config_bytes_max + 1, '\n'));
  const auto large = read_config(path());
  ASSERT_TRUE(large.has_error());
  EXPECT_NE(large.error().text().find("1048576 bytes"), std::string::npos);
}

}  // namespace
}  // namespace gar
