// The files under proto/vectors: are they what make_vectors makes, and does the codec agree?
#include "tests/proto/vectors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "lib/core/codec.hpp"
#include "lib/core/message_layout.hpp"
#include "lib/core/plan.hpp"

namespace gar::proto::test {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::span<const std::byte> as_frame(const std::string& bytes) {
  return std::as_bytes(std::span(bytes.data(), bytes.size()));
}

TEST(vectors, in_the_tree_are_the_ones_made) {
  const fs::path directory = GAR_VECTORS_DIR;
  EXPECT_EQ(read_file(directory / "manifest.json"), vectors_manifest());
  std::set<std::string> made;
  for (const vector_case& one : all_vectors()) {
    EXPECT_TRUE(made.insert(one.file).second) << one.file << " is made twice";
    EXPECT_EQ(read_file(directory / one.file), one.bytes) << one.file;
  }
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.path().extension() != ".bin") continue;
    const std::string file = fs::relative(entry.path(), directory).string();
    EXPECT_TRUE(made.contains(file)) << file << " is made by nothing";
  }
}

TEST(vectors, manifest_is_json_with_a_row_for_each) {
  const boost::json::value manifest = boost::json::parse(vectors_manifest());
  EXPECT_EQ(manifest.at("vectors").as_array().size(), all_vectors().size());
}

TEST(vectors, valid_ones_decode_and_encode_to_the_same_bytes) {
  std::set<std::string> messages;
  for (const vector_case& one : valid_vectors()) {
    const result<message> decoded = decode(as_frame(one.bytes));
    ASSERT_TRUE(decoded) << one.file << ": " << decoded.error().headline();
    EXPECT_EQ(name_of(type_of(*decoded)), one.message) << one.file;
    const std::vector<std::byte> again = encode(*decoded);
    ASSERT_EQ(again.size(), one.bytes.size()) << one.file;
    EXPECT_EQ(std::memcmp(again.data(), one.bytes.data(), again.size()), 0) << one.file;
    messages.insert(one.message);
  }
  EXPECT_EQ(messages.size(), message_types) << "a message has no valid vector";
}

TEST(vectors, invalid_ones_are_refused_with_the_number_named) {
  for (const vector_case& one : invalid_vectors()) {
    const result<message> decoded = decode(as_frame(one.bytes));
    ASSERT_FALSE(decoded) << one.file << " is taken: " << one.meaning;
    EXPECT_EQ(decoded.error().number(), one.error) << one.file << decoded.error().headline();
  }
}

// Each refusal must be for the reason its class names, or the class tests something else.
TEST(vectors, invalid_ones_are_refused_for_the_fault_of_their_class) {
  const std::pair<const char*, const char*> classes[] = {
      {"truncated", "shorter than a header|its length is not what it says"},
      {"wrong_length", "its length is not what it says|its length does not fit|too (small|large)"},
      {"oversized", "longer than 4096"},
      {"unknown_type", "unknown message type"},
      {"count", "the count is too (small|large)|its length does not fit"},
      {"reserved", "a reserved field is not 0"},
      {"utf8", "UTF-8"},
      {"control", "plain UTF-8|holds a (NUL|control character)"},
      {"name", "plain UTF-8|the scope and the point's name disagree"},
      {"enumeration", "neither|is not|not pending|not none"},
      {"range", "is not|is 0|are not|larger than|does not lie|not below"}};
  std::set<std::string> seen;
  for (const vector_case& one : invalid_vectors()) {
    const std::string class_ = fs::path(one.file).parent_path().filename().string();
    seen.insert(class_);
    const result<message> decoded = decode(as_frame(one.bytes));
    ASSERT_FALSE(decoded) << one.file;
    for (const auto& [name, pattern] : classes) {
      if (class_ != name) continue;
      EXPECT_THAT(decoded.error().text(), testing::ContainsRegex(pattern)) << one.file;
    }
  }
  EXPECT_EQ(seen.size(), std::size(classes));
}

TEST(vectors, out_of_state_ones_are_right_as_bytes) {
  for (const vector_case& one : out_of_state_vectors()) {
    EXPECT_TRUE(decode(as_frame(one.bytes))) << one.file;
    EXPECT_NE(one.error, 0) << one.file;
    EXPECT_THAT(one.state, testing::AnyOf("new", "ready")) << one.file;
  }
}

TEST(vectors, plans_in_valid_ones_parse) {
  for (const vector_case& one : valid_vectors()) {
    if (one.message != "plan") continue;
    const result<message> decoded = decode(as_frame(one.bytes));
    ASSERT_TRUE(decoded);
    const auto parsed = bands::parse(std::get<plan_scope>(*decoded).text);
    EXPECT_TRUE(parsed) << one.file;
  }
}

}  // namespace
}  // namespace gar::proto::test
