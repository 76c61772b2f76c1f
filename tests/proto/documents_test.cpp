// Does what is written about the contract, and made from its one registry, say what the code says?
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <iterator>
#include <string>

#include "gar_errors.h"
#include "lib/core/message_layout.hpp"
#include "proto/limits.hpp"
#include "tests/proto/error_table.hpp"

namespace gar::proto::test {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::string protocol = read_file(GAR_PROTO_DIR "/PROTOCOL.md");

static_assert(GAR_E_INVALID_PLAN == static_cast<int>(errc::InvalidPlan));
static_assert(GAR_W_PARK_FALLBACK == static_cast<int>(errc::ParkFallback));
static_assert(GAR_E_LIMIT_PER_USER == static_cast<int>(errc::LimitPerUser));

TEST(documents, protocol_shows_the_registry_of_errors) {
  ASSERT_FALSE(protocol.empty());
  EXPECT_EQ(with_error_table(protocol), protocol) << "run make_error_table proto/PROTOCOL.md";
}

TEST(documents, protocol_says_how_long_a_trace_may_be) {
  const std::string range = fmt::format("| `for_ms`, 1 to {} |", trace_ms_max);
  EXPECT_NE(protocol.find(range), std::string::npos) << range;
}

// "UnknownStream" -> "UNKNOWN_STREAM"
std::string constant_of(std::string_view name) {
  std::string constant;
  for (size_t i = 0; i < name.size(); ++i) {
    if (i > 0 && std::isupper(static_cast<unsigned char>(name[i])) != 0) constant += '_';
    constant += static_cast<char>(std::toupper(static_cast<unsigned char>(name[i])));
  }
  return constant;
}

TEST(documents, c_header_has_every_error_with_its_number) {
  const std::string header = read_file(GAR_ERRORS_HEADER);
  size_t defined = 0;
  for (size_t at = header.find("#define GAR_"); at != std::string::npos;
       at = header.find("#define GAR_", at + 1)) {
    ++defined;
  }
  EXPECT_EQ(defined, error_registry().size() + 1) << "one for each, and the include guard";
  for (const error_entry& row : error_registry()) {
    const std::string line =
        fmt::format("#define GAR_{}_{} {:#06x}\n", row.kind == "error" ? "E" : "W",
                    constant_of(row.name), static_cast<unsigned>(row.code));
    EXPECT_NE(header.find(line), std::string::npos) << line;
    EXPECT_NE(header.find(std::string(row.message)), std::string::npos) << row.name;
  }
}

std::string count_cell(const message_layout& layout) {
  if (layout.count_max == 0) return "0";
  return fmt::format("{}..{}", layout.count_min, layout.count_max);
}

TEST(documents, protocol_shows_every_message_as_it_is) {
  const char* const who[] = {"client", "gard", "both"};
  for (size_t i = 0; i < message_types; ++i) {
    const message_layout& layout = message_layouts[i];
    const std::string start =
        fmt::format("\n| {} | {} | {} |", i + 1, layout.name, who[static_cast<int>(layout.from)]);
    const size_t at = protocol.find(start);
    ASSERT_NE(at, std::string::npos) << start;
    const std::string row = protocol.substr(at + 1, protocol.find('\n', at + 1) - at - 1);
    const std::string entry = layout.entry_bytes ? fmt::format("{} ", layout.entry_bytes) : "";
    const std::string sizes =
        fmt::format("| {} | {}| {} |", layout.fixed_bytes, entry, count_cell(layout));
    EXPECT_NE(row.find(sizes), std::string::npos) << row << " does not have " << sizes;
    if (layout.descriptors > 0) {
      EXPECT_NE(row.find(fmt::format("| {}: ", layout.descriptors)), std::string::npos) << row;
    }
  }
}

}  // namespace
}  // namespace gar::proto::test
