// The command line: what is read, and what a wrong one is told.
#include "daemon/options.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "daemon/version.hpp"

namespace gar {
namespace {

std::variant<options, ended> parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "gard");
  return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

options read(std::vector<const char*> arguments) {
  const auto parsed = parse(std::move(arguments));
  EXPECT_TRUE(std::holds_alternative<options>(parsed));
  return std::holds_alternative<options>(parsed) ? std::get<options>(parsed) : options{};
}

ended end_of(std::vector<const char*> arguments) {
  const auto parsed = parse(std::move(arguments));
  EXPECT_TRUE(std::holds_alternative<ended>(parsed));
  return std::holds_alternative<ended>(parsed) ? std::get<ended>(parsed) : ended{};
}

// Refused with status 64 and one line that has these words.
void refuses(std::vector<const char*> arguments, std::string_view saying) {
  const ended e = end_of(std::move(arguments));
  EXPECT_EQ(e.exit_status, 64);
  EXPECT_EQ(e.out, "");
  EXPECT_TRUE(e.err.starts_with("gard: ")) << e.err;
  EXPECT_EQ(e.err.find('\n'), e.err.size() - 1) << e.err;
  EXPECT_NE(e.err.find(saying), std::string::npos) << e.err;
}

TEST(options, are_not_set_where_nothing_is_said) {
  const options o = read({});
  EXPECT_FALSE(o.config_file || o.check_config || o.socket || o.control || o.log_level);
}

TEST(options, are_all_read) {
  const options o = read({"--config", "/f", "--check-config", "--socket=/s", "--control", "/c",
                          "--log-level", "debug"});
  EXPECT_EQ(o.config_file, "/f");
  EXPECT_TRUE(o.check_config);
  EXPECT_EQ(o.socket, "/s");
  EXPECT_EQ(o.control, "/c");
  EXPECT_EQ(o.log_level, log_level::debug);
}

TEST(options, print_the_version_and_help_and_end_well) {
  EXPECT_EQ(end_of({"--version"}).out, "gard " + std::string(version) + "\n");
  EXPECT_EQ(end_of({"--version"}).exit_status, 0);
  const ended help = end_of({"--help"});
  EXPECT_EQ(help.exit_status, 0);
  for (const char* option : {"--config", "--check-config", "--socket", "--control", "--log-level",
                             "--version", "GARD_SOCKET", "SIGHUP", "78"}) {
    EXPECT_NE(help.out.find(option), std::string::npos) << option << "\n" << help.out;
  }
}

TEST(options, refuse_what_is_not_one) {
  refuses({"--sockets", "/s"}, "--sockets");
  refuses({"start"}, "start");
  refuses({"-x"}, "-x");
  refuses({"--sock\x1b[31m"}, "\\x1b");
}

TEST(options, refuse_a_missing_or_second_value) {
  refuses({"--socket"}, "--socket");
  refuses({"--config", ""}, "--config: is empty");
  refuses({"--socket", "/a", "--socket", "/b"}, "--socket");
  refuses({"--check-config=perhaps"}, "--check-config");
}

TEST(options, refuse_a_level_that_is_none_and_name_those_that_are) {
  refuses({"--log-level", "loud"}, "debug, info, warning, error");
}

}  // namespace
}  // namespace gar
