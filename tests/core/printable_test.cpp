// Other people's bytes, made fit to show.
#include "lib/core/printable.hpp"

#include <gtest/gtest.h>

#include <string>

namespace gar {
namespace {

TEST(printable, leaves_printable_ascii_as_it_is) {
  EXPECT_EQ(printable("flag:park_us=1 ~!'\"", 100), "flag:park_us=1 ~!'\"");
  EXPECT_EQ(printable("", 100), "");
}

TEST(printable, writes_every_other_byte_as_its_number) {
  using namespace std::string_view_literals;
  EXPECT_EQ(printable("a\0b\n\x1b[1m\x7f\xc3\xa9"sv, 100), "a\\x00b\\x0a\\x1b[1m\\x7f\\xc3\\xa9");
  for (int byte = 0; byte < 256; ++byte) {
    for (char shown : printable(std::string(1, static_cast<char>(byte)), 4)) {
      EXPECT_TRUE(shown >= 0x20 && shown < 0x7f) << byte;
    }
  }
}

TEST(printable, ends_in_dots_past_the_most_and_never_in_half_a_byte) {
  EXPECT_EQ(printable("abcd", 4), "abcd");
  EXPECT_EQ(printable("abcde", 4), "abcd...");
  EXPECT_EQ(printable("ab\xff", 4), "ab...");
  EXPECT_EQ(printable(std::string(1 << 20, '\xff'), 512).size(), 512u + 3);
}

}  // namespace
}  // namespace gar
