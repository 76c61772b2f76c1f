#include "bench/picture.hpp"

#include <gtest/gtest.h>

namespace gar::bench {
namespace {

size_t count_of(const std::string& what, const std::string& in) {
  size_t count = 0;
  for (size_t at = in.find(what); at != std::string::npos; at = in.find(what, at + 1)) ++count;
  return count;
}

TEST(picture, every_point_is_drawn_and_every_line_named) {
  const picture_line a{"first", {{1, 10}, {1000, 20}}};
  const picture_line b{"second", {{1, 100}}};
  const std::string svg = svg_of("title", "ns", {{"left", "streams", {a, b}}});
  EXPECT_EQ(svg.rfind("<svg ", 0), 0u);
  EXPECT_EQ(count_of("<circle", svg), 3u + 2u);  // and the two of the legend
  EXPECT_EQ(count_of("<polyline", svg), 2u);
  for (const char* text : {"title", "left", "streams", "first", "second", "1,000"}) {
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  }
}

TEST(picture, what_has_no_logarithm_is_left_out) {
  const std::string svg = svg_of("", "", {{"", "", {{"a", {{0, 5}, {5, 0}}}}}});
  EXPECT_EQ(count_of("<circle", svg), 1u);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

}  // namespace
}  // namespace gar::bench
