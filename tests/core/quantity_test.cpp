// Durations and sizes as people write them: the units, the exact text back, every refusal.
#include "lib/core/quantity.hpp"

#include <gtest/gtest.h>

namespace gar {
namespace {

TEST(quantity, reads_each_unit) {
  EXPECT_EQ(*parse_duration("7ns"), duration{7});
  EXPECT_EQ(*parse_duration("50us"), duration{50'000});
  EXPECT_EQ(*parse_duration("10ms"), duration{10'000'000});
  EXPECT_EQ(*parse_duration("2s"), duration{2'000'000'000});
  EXPECT_EQ(*parse_duration("0s"), duration{0});
  EXPECT_EQ(*parse_bytes("5B"), 5u);
  EXPECT_EQ(*parse_bytes("64KiB"), 65536u);
  EXPECT_EQ(*parse_bytes("2MiB"), 2u << 20);
  EXPECT_EQ(*parse_bytes("3GiB"), uint64_t{3} << 30);
}

TEST(quantity, refuses_a_bare_number_and_says_what_was_expected) {
  const auto bare = parse_duration("50");
  ASSERT_TRUE(bare.has_error());
  EXPECT_EQ(bare.error().code(), errc::InvalidArgument);
  EXPECT_NE(bare.error().text().find("50us"), std::string::npos);
  EXPECT_TRUE(parse_bytes("4096").has_error());
}

TEST(quantity, refuses_what_is_not_digits_and_a_unit) {
  for (const char* bad : {"", "us", " 5us", "5 us", "5us ", "-5us", "+5us", "05us", "1.5ms", "5US",
                          "5m", "5MiB", "0x5us", "18446744073709551616ns", "18446744074s"}) {
    EXPECT_TRUE(parse_duration(bad).has_error()) << bad;
  }
  for (const char* bad : {"", "5", "5kB", "5MB", "5M", "5mib", "5us", "17179869184GiB"}) {
    EXPECT_TRUE(parse_bytes(bad).has_error()) << bad;
  }
}

TEST(quantity, takes_the_largest_value_of_64_bits) {
  EXPECT_EQ(parse_duration("18446744073709551615ns")->ns, duration::ns_max);
}

TEST(quantity, says_a_value_in_the_largest_exact_unit_and_reads_it_back) {
  EXPECT_EQ(text_of(duration{0}), "0ns");
  EXPECT_EQ(text_of(duration{1'500}), "1500ns");
  EXPECT_EQ(text_of(duration{20'000}), "20us");
  EXPECT_EQ(text_of(duration{60'000'000'000}), "60s");
  EXPECT_EQ(text_of_bytes(1 << 20), "1MiB");
  EXPECT_EQ(text_of_bytes(1025), "1025B");
  for (uint64_t value : {uint64_t{0}, uint64_t{1}, uint64_t{999'999}, uint64_t{1} << 63}) {
    EXPECT_EQ(parse_duration(text_of(duration{value}))->ns, value);
    EXPECT_EQ(*parse_bytes(text_of_bytes(value)), value);
  }
}

}  // namespace
}  // namespace gar
