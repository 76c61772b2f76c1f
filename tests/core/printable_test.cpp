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

TEST(readable_text, leaves_what_people_write) {
  for (const char* text :
       {"", "a b ~", "\u00e9\u4e2d\u0645\u05d0", "\U0001f600", "\u2764\ufe0f", "\ufffd"}) {
    EXPECT_EQ(readable_text(text), text);
  }
}

TEST(readable_text, shows_what_reorders_hides_or_cannot_be_seen_as_numbers) {
  for (const char* text :
       {"\n",     "\x1b",       "\x7f",       "\u0080",     "\u009b",    "\u00ad",
        "\u034f", "\u061c",     "\u115f",     "\u180e",     "\u200b",    "\u200f",
        "\u2028", "\u202a",     "\u202e",     "\u2060",     "\u2064",    "\u2066",
        "\u206a", "\u206f",     "\u3164",     "\ufeff",     "\uffa0",    "\ufff9",
        "\ufffb", "\U000e0000", "\U000e0041", "\U000e007f", "\U000e0100"}) {
    const std::string shown = readable_text("a" + std::string(text) + "b");
    EXPECT_EQ(shown, "a" + printable(text, 100) + "b");
  }
}

TEST(readable_text, shows_bytes_that_are_no_character_as_numbers) {
  EXPECT_EQ(readable_text("\x9b[1m\xc3"), "\\x9b[1m\\xc3");
  EXPECT_EQ(readable_text("\xc0\x9b\xed\xa0\x80\xf4\x90"), "\\xc0\\x9b\\xed\\xa0\\x80\\xf4\\x90");
}

}  // namespace
}  // namespace gar
