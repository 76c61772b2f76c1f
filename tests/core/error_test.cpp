// The registry: numbers that never change meaning, texts made when they are read.
#include "lib/core/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace gar {
namespace {

struct fixed_row {
  uint16_t number;
  std::string_view name;
  size_t arguments;
  std::string_view kind;
};

size_t arguments_of(const error_entry& e) {
  size_t most = 0;
  for (size_t at = e.message.find('{'); at != std::string_view::npos;
       at = e.message.find('{', at + 1)) {
    most = std::max(most, static_cast<size_t>(e.message[at + 1] - '0') + 1);
  }
  return most;
}

TEST(errors, the_first_eight_are_as_they_were_given) {
  constexpr fixed_row rows[] = {
      {0x0001, "InvalidPlan", 2, "error"},
      {0x0002, "ParkFallback", 4, "warning"},
      {0x0003, "ExecutorFallback", 3, "warning"},
      {0x0004, "ExecutorRefused", 2, "error"},
      {0x0005, "InvalidExecutor", 2, "error"},
      {0x0006, "PendedInline", 1, "error"},
      {0x0007, "Stalled", 1, "error"},
      {0x0008, "Backend", 2, "error"},
  };
  for (const fixed_row& row : rows) {
    const error_entry* e = find_error(row.number);
    ASSERT_NE(e, nullptr) << row.name;
    EXPECT_EQ(e->name, row.name);
    EXPECT_EQ(e->kind, row.kind);
    EXPECT_EQ(arguments_of(*e), row.arguments) << row.name;
  }
}

TEST(errors, numbers_and_names_are_unique_and_without_gaps) {
  std::set<std::string_view> names;
  uint16_t expected = 1;
  for (const error_entry& e : error_registry()) {
    EXPECT_EQ(static_cast<uint16_t>(e.code), expected++) << e.name;
    EXPECT_TRUE(names.insert(e.name).second) << e.name;
  }
}

TEST(errors, every_row_says_enough) {
  const std::set<std::string_view> classes = {"caller", "peer",      "environment",
                                              "limit",  "transient", "internal"};
  for (const error_entry& e : error_registry()) {
    EXPECT_TRUE(e.kind == "error" || e.kind == "warning") << e.name;
    EXPECT_TRUE(classes.contains(e.class_)) << e.name;
    EXPECT_FALSE(e.message.empty()) << e.name;
    EXPECT_FALSE(e.summary.empty()) << e.name;
    EXPECT_EQ(e.summary.find_first_of("{}?"), std::string_view::npos) << e.name;
    EXPECT_EQ(e.summary.find(".."), std::string_view::npos) << e.name;
    EXPECT_FALSE(e.remedy.empty()) << e.name;
    EXPECT_EQ(e.remedy.back(), '.') << e.name;
    EXPECT_TRUE(e.class_ != "limit" || e.retry) << e.name;
    EXPECT_TRUE(e.kind != "warning" || e.exit_status == 0) << e.name;
  }
}

TEST(errors, every_number_is_found_and_no_other) {
  size_t found = 0;
  for (uint32_t n = 0; n <= 0xffff; ++n) {
    const error_entry* e = find_error(static_cast<uint16_t>(n));
    if (!e) continue;
    ++found;
    EXPECT_EQ(static_cast<uint32_t>(e->code), n);
  }
  EXPECT_EQ(found, error_registry().size());
}

TEST(errors, arguments_are_kept_and_put_in_when_shown) {
  const error e(errc::Backend, {"cuStreamQuery", "700"}, 700);
  EXPECT_EQ(e.number(), 8);
  EXPECT_EQ(e.os_number(), 700);
  EXPECT_EQ(e.arguments()[0], "cuStreamQuery");
  EXPECT_EQ(e.text(), "cuStreamQuery failed with status 700");
  EXPECT_EQ(e.headline(), "0x0008 Backend: cuStreamQuery failed with status 700");
}

TEST(errors, an_argument_is_data_and_never_a_format) {
  EXPECT_EQ(error(errc::Backend, {"{1}{0}", "{x"}).text(), "{1}{0} failed with status {x");
}

TEST(errors, without_arguments_the_summary_is_the_text) {
  EXPECT_EQ(error(errc::TimedOut).text(), "the wait passed its timeout");
  EXPECT_EQ(error(errc::Cancelled).text(), "the wait was cancelled");
}

TEST(errors, a_missing_argument_shows_as_a_question) {
  EXPECT_EQ(error(errc::Backend, {"call"}).text(), "call failed with status ?");
}

TEST(errors, a_number_from_a_newer_peer_still_has_a_text) {
  const error e(static_cast<errc>(0x7fff));
  EXPECT_EQ(e.name(), "Unknown");
  EXPECT_EQ(e.text(), "error 0x7fff");
}

TEST(errors, are_values) {
  EXPECT_EQ(error(errc::Stalled, {"2"}), error(errc::Stalled, {"2"}));
  EXPECT_NE(error(errc::Stalled, {"2"}), error(errc::Stalled, {"3"}));
  EXPECT_NE(error(errc::Stalled, {"2"}), error(errc::Stalled, {"2"}, 5));
}

TEST(errors, asking_a_failure_for_its_value_is_a_bug_of_the_caller) {
  const result<int> r = error(errc::Cancelled);
  EXPECT_THROW((void)r.value(), std::logic_error);
}

}  // namespace
}  // namespace gar
