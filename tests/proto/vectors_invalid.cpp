#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

#include "lib/core/error.hpp"
#include "tests/proto/frame_writer.hpp"
#include "tests/proto/vectors.hpp"

namespace gar::proto::test {
namespace {

using namespace std::string_view_literals;

std::string little_endian(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

// Right frames to spoil, by "message/name".
class originals {
 public:
  originals() {
    for (const vector_case& one : valid_vectors()) {
      const size_t from = std::string_view("valid/").size();
      frames_[one.file.substr(from, one.file.size() - from - 4)] = one;
    }
  }
  const vector_case& at(const std::string& name) const {
    const auto found = frames_.find(name);
    GAR_ASSERT(found != frames_.end());
    return found->second;
  }
  // One of each message, the first by name.
  std::vector<vector_case> one_of_each() const {
    std::vector<vector_case> ones;
    for (const auto& [name, one] : frames_) {
      if (ones.empty() || ones.back().message != one.message) ones.push_back(one);
    }
    return ones;
  }

 private:
  std::map<std::string, vector_case> frames_;
};

class collector {
 public:
  void add(std::string_view class_, std::string_view name, std::string_view message,
           std::string bytes, std::string_view meaning, errc error = errc::MalformedMessage) {
    vector_case one;
    one.file = "invalid/" + std::string(class_) + "/" + std::string(name) + ".bin";
    one.message = message;
    one.bytes = std::move(bytes);
    one.meaning = meaning;
    one.error = static_cast<uint16_t>(error);
    one.fatal = true;
    cases_.push_back(std::move(one));
  }
  // A right frame with the bytes at an offset replaced.
  void spoil(std::string_view class_, std::string_view name, const std::string& original,
             size_t offset_bytes, std::string_view with, std::string_view meaning) {
    const vector_case& right = originals_.at(original);
    std::string bytes = right.bytes;
    GAR_ASSERT(offset_bytes + with.size() <= bytes.size());
    bytes.replace(offset_bytes, with.size(), with);
    GAR_ASSERT(bytes != right.bytes);
    add(class_, name, right.message, std::move(bytes), meaning);
  }
  const originals& right() const { return originals_; }
  std::vector<vector_case> take() { return std::move(cases_); }

 private:
  originals originals_;
  std::vector<vector_case> cases_;
};

// Frames that end too early or too late.
void add_lengths(collector& to) {
  to.add("truncated", "one_byte", "", std::string("\x0b"), "Shorter than a header.");
  to.add("truncated", "seven_bytes", "", std::string("\x0b\0\0\0\x10\0\0", 7),
         "Shorter than a header by one byte.");
  for (const vector_case& one : to.right().one_of_each()) {
    std::string cut = one.bytes;
    cut.pop_back();
    to.add("truncated", one.message, one.message, cut,
           "The last byte is missing; the header's length still counts it.");
    cut.replace(4, 4, little_endian(cut.size(), 4));
    to.add("wrong_length", one.message + "_short", one.message, cut,
           "One byte too short for its type and count; the header's length agrees.");
    std::string longer = one.bytes + '\0';
    to.add("wrong_length", one.message + "_trailing", one.message, longer,
           "A byte behind the message that the header's length does not count.");
    longer.replace(4, 4, little_endian(longer.size(), 4));
    to.add("wrong_length", one.message + "_long", one.message, longer,
           "One byte too long for its type and count; the header's length agrees.");
    if (one.bytes.size() == 8) continue;  // a header is the whole of it
    to.add("wrong_length", one.message + "_header_only", one.message,
           one.bytes.substr(0, 4) + little_endian(8, 4), "Nothing behind the header.");
  }
  to.spoil("wrong_length", "zero", "cancel/usual", 4, little_endian(0, 4), "It claims 0 bytes.");
  to.spoil("wrong_length", "huge", "cancel/usual", 4, little_endian(0xffffffff, 4),
           "It claims 4 GiB.");
}

void add_oversized(collector& to) {
  std::string bytes = little_endian(18, 2) + little_endian(4097 - 16, 2) + little_endian(4097, 4);
  bytes.resize(4097, ' ');
  to.add("oversized", "one_too_many", "ask", bytes, "4097 bytes, one more than a frame may have.");
  bytes.resize(65536, ' ');
  bytes.replace(4, 4, little_endian(bytes.size(), 4));
  to.add("oversized", "64_kib", "ask", bytes, "65536 bytes.");
}

void add_unknown_types(collector& to) {
  for (const uint16_t type : {0, 21, 255, 65535}) {
    to.add("unknown_type", std::to_string(type), "", frame_writer(type, 0).u64("", 0).frame(),
           "No message has this type.", errc::UnknownMessage);
  }
}

void add_counts(collector& to) {
  for (const vector_case& one : to.right().one_of_each()) {
    std::string bytes = one.bytes;
    bytes.replace(2, 2, little_endian(65535, 2));
    to.add("count", one.message + "_huge", one.message, bytes, "It claims 65535 entries.");
  }
  // Without entries where there must be some: the fixed part alone, lengths agreeing.
  const std::pair<const char*, size_t> needy[] = {
      {"plan/default", 88}, {"wait/usual", 8},   {"completion/parked", 8}, {"probe/one", 8},
      {"status/each", 8},   {"outcome/each", 8}, {"ask/status", 16},       {"answer/whole", 24}};
  for (const auto& [name, fixed_bytes] : needy) {
    const vector_case& right = to.right().at(name);
    std::string bytes = right.bytes.substr(0, fixed_bytes);
    bytes.replace(2, 6, little_endian(0, 2) + little_endian(fixed_bytes, 4));
    to.add("count", right.message + "_none", right.message, bytes, "It carries no entry.");
  }
  // One more than the most, everything else right.
  const vector_case& hello = to.right().at("hello/largest");
  std::string nine = hello.bytes + hello.bytes.substr(80, 152);
  nine.replace(2, 6, little_endian(9, 2) + little_endian(nine.size(), 4));
  to.add("count", "hello_nine_drivers", "hello", nine, "Nine drivers.");
  const std::pair<const char*, const char*> texts[] = {{"plan/longest", "plan_513_bytes"},
                                                       {"error/longest", "error_1025_bytes"},
                                                       {"ask/longest", "ask_3073_bytes"}};
  for (const auto& [name, file] : texts) {
    const vector_case& right = to.right().at(name);
    std::string bytes = right.bytes + ' ';
    const auto count =
        static_cast<uint16_t>(static_cast<uint8_t>(bytes[2]) | static_cast<uint8_t>(bytes[3]) << 8);
    bytes.replace(2, 6, little_endian(count + 1u, 2) + little_endian(bytes.size(), 4));
    to.add("count", file, right.message, bytes, "A text one byte longer than the longest.");
  }
  // A count where there are no entries.
  to.spoil("count", "cancel_one", "cancel/usual", 2, little_endian(1, 2),
           "A cancel carries no entries.");
}

void add_reserved(collector& to) {
  constexpr std::string_view one = "\x01";
  constexpr std::string_view meaning = "A reserved byte is not 0.";
  to.spoil("reserved", "hello_driver", "hello/usual", 80 + 17, one, meaning);
  to.spoil("reserved", "hello_driver_last", "hello/usual", 80 + 23, one, meaning);
  to.spoil("reserved", "page", "page/second", 10, one, meaning);
  to.spoil("reserved", "open", "open/unnamed", 25, one, meaning);
  to.spoil("reserved", "open_last", "open/unnamed", 31, one, meaning);
  to.spoil("reserved", "opened", "opened/first", 38, one, meaning);
  to.spoil("reserved", "plan", "plan/default", 22, one, meaning);
  to.spoil("reserved", "point", "point/first", 12, one, meaning);
  to.spoil("reserved", "status", "status/each", 8 + 25, one, meaning);
  to.spoil("reserved", "status_second_entry", "status/each", 8 + 80 + 27, one, meaning);
  to.spoil("reserved", "outcome", "outcome/each", 8 + 53, one, meaning);
  to.spoil("reserved", "outcome_last_entry", "outcome/each", 8 + 5 * 56 + 55, one, meaning);
  to.spoil("reserved", "error", "error/refusal", 21, one, meaning);
  to.spoil("reserved", "bye", "bye/plain", 10, one, meaning);
  to.spoil("reserved", "bye_last", "bye/plain", 15, one, meaning);
}

struct text_place {
  const char* name;
  const char* original;
  size_t offset_bytes;
  size_t field_bytes;  // 0: the text behind the fixed part
  bool may_be_empty;
};

// Every text of every message.
constexpr text_place text_places[] = {
    {"hello_client_name", "hello/usual", 16, 64, false},
    {"hello_driver_name", "hello/usual", 80, 16, false},
    {"hello_driver_why", "hello/usual", 80 + 152 + 24, 128, true},
    {"welcome_word_wait", "welcome/usual", 48, 16, false},
    {"welcome_executor", "welcome/usual", 64, 16, false},
    {"open_stream_name", "open/word", 32, 64, true},
    {"plan_point_name", "plan/point", 24, 64, false},
    {"plan_text", "plan/point", 88, 0, false},
    {"point_name", "point/first", 16, 64, false},
    {"completion_call", "completion/several", 8 + 2 * 88 + 40, 48, true},
    {"status_call", "status/each", 8 + 2 * 80 + 32, 48, true},
    {"error_text", "error/refusal", 24, 0, true},
    {"ask_text", "ask/status", 16, 0, false},
    {"answer_text", "answer/whole", 24, 0, false},
};

// Puts a spoilt text at the front of each text.
void in_each_text(collector& to, const char* class_, const char* name, std::string_view with,
                  const char* meaning) {
  for (const text_place& place : text_places) {
    to.spoil(class_, std::string(place.name) + "_" + name, place.original, place.offset_bytes, with,
             meaning);
  }
}

void add_utf8(collector& to) {
  in_each_text(to, "utf8", "lone_continuation", "\x80", "A continuation byte without a lead.");
  in_each_text(to, "utf8", "ff", "\xff", "A byte that UTF-8 never has.");
  // The rules of UTF-8 one by one, in the one place where a peer's text is shown to people most.
  const std::pair<const char*, std::string_view> rules[] = {
      {"overlong_two", "\xc0\xaf"},          {"overlong_two_c1", "\xc1\xbf"},
      {"overlong_three", "\xe0\x9f\xbf"},    {"overlong_four", "\xf0\x8f\xbf\xbf"},
      {"surrogate_low", "\xed\xa0\x80"},     {"surrogate_high", "\xed\xbf\xbf"},
      {"above_10ffff", "\xf4\x90\x80\x80"},  {"lead_f5", "\xf5\x80\x80\x80"},
      {"lead_without_tail", "\xe2\x82\x41"}, {"two_leads", "\xc3\xc3"}};
  for (const auto& [name, bytes] : rules) {
    to.spoil("utf8", std::string("rule_") + name, "point/first", 16, bytes,
             "Not well-formed UTF-8.");
  }
  const vector_case& right = to.right().at("point/last");
  std::string cut = right.bytes;
  cut[16 + 62] = '\0';
  to.add("utf8", "rule_cut_at_end", right.message, cut, "The last character is cut in two.");
}

void add_control_characters(collector& to) {
  for (const text_place& place : text_places) {
    if (place.field_bytes == 0) {
      to.spoil("control", std::string(place.name) + "_nul", place.original, place.offset_bytes,
               "\0"sv, "A NUL in a text.");
      continue;
    }
    to.spoil("control", std::string(place.name) + "_newline", place.original, place.offset_bytes,
             "\n", "A newline in a field.");
    to.spoil("control", std::string(place.name) + "_escape", place.original, place.offset_bytes,
             "\x1b", "An escape character in a field.");
  }
  to.spoil("control", "plan_text_newline", "plan/point", 88, "\n", "A newline in a plan.");
  to.spoil("control", "error_text_newline", "error/refusal", 24, "\n", "A newline in a sentence.");
  to.spoil("control", "delete", "point/first", 16, "\x7f", "U+007F in a name.");
  to.spoil("control", "c1", "point/first", 16, "\xc2\x9b", "U+009B in a name.");
}

void add_names(collector& to) {
  for (const text_place& place : text_places) {
    if (place.field_bytes == 0) continue;
    to.spoil("name", std::string(place.name) + "_unterminated", place.original, place.offset_bytes,
             std::string(place.field_bytes, 'n'), "No NUL ends the field.");
    to.spoil("name", std::string(place.name) + "_padding", place.original,
             place.offset_bytes + place.field_bytes - 1, "n", "The padding is not all NUL.");
    if (place.may_be_empty) continue;
    to.spoil("name", std::string(place.name) + "_empty", place.original, place.offset_bytes,
             std::string(place.field_bytes, '\0'), "The name is empty.");
  }
  to.spoil("name", "plan_default_with_point", "plan/default", 24, "p",
           "The default scope names no point.");
  to.spoil("name", "plan_client_with_point", "plan/client", 24, "p",
           "A client's scope names no point.");
}

void add_enumerations(collector& to) {
  to.spoil("enumeration", "hello_available", "hello/usual", 80 + 16, "\x02", "Neither 0 nor 1.");
  to.spoil("enumeration", "open_authority", "open/unnamed", 24, "\x02",
           "Neither the owner nor the word.");
  to.spoil("enumeration", "plan_scope", "plan/point", 16, "\x04", "There are four scopes, 0..3.");
  to.spoil("enumeration", "completion_kind", "completion/parked", 8 + 34, "\x04",
           "There are four kinds, 0..3.");
  to.spoil("enumeration", "completion_confirmed", "completion/parked", 8 + 35, "\x02",
           "Neither 0 nor 1.");
  to.spoil("enumeration", "status_state", "status/each", 8 + 24, "\x03",
           "Not pending, done or failed.");
  to.spoil("enumeration", "outcome_what", "outcome/each", 8 + 50, "\x03",
           "There are three things to report, 0..2.");
  to.spoil("enumeration", "outcome_kind", "outcome/each", 8 + 51, "\x04",
           "There are four kinds, 0..3.");
  to.spoil("enumeration", "outcome_sample", "outcome/each", 8 + 52, "\x03",
           "Not none, exact or late.");
  to.spoil("enumeration", "error_fatal", "error/refusal", 20, "\x02", "Neither 0 nor 1.");
}

void add_ranges(collector& to) {
  const auto u16 = [](uint64_t value) { return little_endian(value, 2); };
  const auto u32 = [](uint64_t value) { return little_endian(value, 4); };
  to.spoil("range", "hello_version_0", "hello/usual", 8, u16(0), "Versions start at 1.");
  to.spoil("range", "hello_versions_reversed", "hello/usual", 8, u16(2),
           "The lowest version is above the highest.");
  to.spoil("range", "welcome_version_0", "welcome/usual", 8, u16(0), "Versions start at 1.");
  to.spoil("range", "welcome_no_plan", "welcome/usual", 10, u16(0), "At least one plan follows.");
  to.spoil("range", "welcome_plans_8193", "welcome/usual", 10, u16(8193), "At most 8192 plans.");
  to.spoil("range", "welcome_page_bytes_0", "welcome/usual", 24, u32(0), "No page is empty.");
  to.spoil("range", "welcome_page_bytes_odd", "welcome/usual", 24, u32(4104),
           "A page is a multiple of 4096 bytes.");
  to.spoil("range", "welcome_pages_0", "welcome/usual", 36, u32(0), "1..16 pages.");
  to.spoil("range", "welcome_pages_17", "welcome/usual", 36, u32(17), "1..16 pages.");
  to.spoil("range", "welcome_entries_without_ring", "welcome/usual", 80, u32(64),
           "No ring, no entries.");
  to.spoil("range", "welcome_flag_without_ring", "welcome/usual", 84, u32(1),
           "No ring, no request flag.");
  to.spoil("range", "welcome_entries_0", "welcome/ring", 80, u32(0), "A ring has 64..4096.");
  to.spoil("range", "welcome_entries_odd", "welcome/ring", 80, u32(96), "No power of two.");
  to.spoil("range", "welcome_entries_8192", "welcome/ring", 80, u32(8192), "64..4096.");
  to.spoil("range", "welcome_flag_3072", "welcome/ring", 84, u32(3072), "0..3071.");
  to.spoil("range", "page_index_0", "page/second", 8, u16(0), "Page 0 comes with the welcome.");
  to.spoil("range", "page_index_16", "page/second", 8, u16(16), "1..15.");
  to.spoil("range", "page_bytes_small", "page/second", 12, u32(2048),
           "A page is a multiple of 4096 bytes.");
  to.spoil("range", "opened_page_16", "opened/first", 32, u16(16), "0..15.");
  to.spoil("range", "opened_slot_8", "opened/first", 36, u16(8), "0..7.");
  to.spoil("range", "plan_scope_index", "plan/default", 18, u16(1),
           "The index is not below the number of scopes.");
  to.spoil("range", "plan_no_scopes", "plan/default", 20, u16(0), "At least one scope.");
  to.spoil("range", "plan_8193_scopes", "plan/default", 20, u16(8193), "At most 8192 scopes.");
  to.spoil("range", "point_0", "point/first", 8, u32(0), "0 means none and has no name.");
  to.spoil("range", "point_257", "point/first", 8, u32(257), "1..256.");
  to.spoil("range", "wait_point_257", "wait/usual", 8 + 48, u32(257), "0..256.");
  to.spoil("range", "outcome_point_257", "outcome/each", 8 + 32, u32(257), "0..256.");
  to.spoil("range", "error_code_0", "error/refusal", 16, u16(0), "0 is no error.");
  to.spoil("range", "answer_total", "answer/whole", 20, u32((16u << 20) + 1), "More than 16 MiB.");
  to.spoil("range", "answer_outside", "answer/whole", 16, u32(1),
           "The part ends behind the answer.");
  to.spoil("range", "answer_offset_wraps", "answer/whole", 16, u32(0xffffffff),
           "The part begins behind the answer.");
}

}  // namespace

std::vector<vector_case> invalid_vectors() {
  collector to;
  add_lengths(to);
  add_oversized(to);
  add_unknown_types(to);
  add_counts(to);
  add_reserved(to);
  add_utf8(to);
  add_control_characters(to);
  add_names(to);
  add_enumerations(to);
  add_ranges(to);
  return to.take();
}

}  // namespace gar::proto::test
