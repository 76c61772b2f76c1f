// The codec over generated messages and over bytes that nobody meant.
//
// GAR_TEST_SEED=n in the environment repeats a run.
#include "lib/core/codec.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <utility>

#include "lib/core/message_layout.hpp"
#include "lib/core/utf8.hpp"
#include "lib/core/wait.hpp"
#include "proto/pages.hpp"
#include "proto/ring.hpp"

namespace gar::proto {

// Entries are compared as bytes: they have no padding but named zeros.
template <class Entry>
bool same_entries(const std::vector<Entry>& a, const std::vector<Entry>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Entry)) == 0);
}
bool operator==(const completions& a, const completions& b) {
  return same_entries(a.entries, b.entries);
}
bool operator==(const probes& a, const probes& b) {
  return same_entries(a.entries, b.entries);
}
bool operator==(const statuses& a, const statuses& b) {
  return same_entries(a.entries, b.entries);
}
bool operator==(const outcomes& a, const outcomes& b) {
  return same_entries(a.entries, b.entries);
}

namespace {

static_assert(static_cast<uint8_t>(wait_kind::blocked) == kind_blocked);
static_assert(static_cast<uint8_t>(wait_kind::immediate) == kind_immediate);
static_assert(static_cast<uint8_t>(wait_kind::late) == kind_late);
static_assert(static_cast<uint8_t>(wait_kind::parked) == kind_parked);

class generator {
 public:
  generator() {
    const char* asked = std::getenv("GAR_TEST_SEED");
    const uint64_t seed = asked ? std::strtoull(asked, nullptr, 10) : std::random_device{}();
    std::printf("GAR_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    random_.seed(seed);
  }

  uint64_t below(uint64_t end) { return random_() % end; }
  uint64_t between(uint64_t from, uint64_t to) { return from + below(to - from + 1); }
  bool coin() { return below(2) == 0; }
  // All bits, with the ends of the range more often than chance has them.
  template <class Integer>
  Integer any() {
    const uint64_t pick = below(8);
    if (pick == 0) return 0;
    if (pick == 1) return static_cast<Integer>(~uint64_t{0});
    return static_cast<Integer>(random_());
  }

  // Well-formed text of min..max bytes with characters of every length.
  std::string text(size_t bytes_min, size_t bytes_max) {
    static const char* const characters[] = {
        "a", "Z", "0", " ", "~", "\"", "\\", "é", "߿", "�", "\xf0\x9f\x98\x80"};
    const size_t wanted = between(bytes_min, bytes_max);
    std::string made;
    while (made.size() < wanted) {
      const std::string next = characters[below(std::size(characters))];
      made += made.size() + next.size() <= wanted ? next : "x";
    }
    return made;
  }
  std::string name() { return text(1, name_bytes_max); }

  void call(char (&field)[call_field_bytes]) { set_call(field, text(0, sizeof(field) - 1)); }

  message any_message(message_type type);

 private:
  wait any_wait();
  completion_entry any_completion();
  status_entry any_status();
  outcome_entry any_outcome();
  hello any_hello();
  plan_scope any_plan();

  std::mt19937_64 random_;
};

wait generator::any_wait() {
  wait w{any<uint64_t>(), any<uint64_t>(), any<uint64_t>(), any<uint64_t>(), any<uint64_t>()};
  w.stream = any<uint32_t>();
  w.stream_generation = any<uint32_t>();
  w.point_number = static_cast<uint32_t>(below(257));
  w.rows = any<uint32_t>();
  return w;
}

completion_entry generator::any_completion() {
  completion_entry e{};
  e.cookie = any<uint64_t>();
  e.wait_ns = any<uint64_t>();
  e.slept_ns = any<uint64_t>();
  e.parks = any<uint32_t>();
  e.backstop_queries = any<uint32_t>();
  e.code = any<uint16_t>();
  e.kind = static_cast<uint8_t>(below(4));
  e.confirmed = coin();
  e.status = any<int32_t>();
  call(e.call);
  return e;
}

status_entry generator::any_status() {
  status_entry e{};
  e.probe_id = any<uint64_t>();
  e.sequence = any<uint64_t>();
  e.stream = any<uint32_t>();
  e.stream_generation = any<uint32_t>();
  e.state = static_cast<uint8_t>(below(3));
  e.status = any<int32_t>();
  call(e.call);
  return e;
}

outcome_entry generator::any_outcome() {
  outcome_entry e{};
  e.wait_ns = any<uint64_t>();
  e.slept_ns = any<uint64_t>();
  e.sample_ns = any<uint64_t>();
  e.stream = any<uint32_t>();
  e.stream_generation = any<uint32_t>();
  e.point = static_cast<uint32_t>(below(257));
  e.parks = any<uint32_t>();
  e.backstop_queries = any<uint32_t>();
  e.rows = any<uint32_t>();
  e.code = any<uint16_t>();
  e.what = static_cast<uint8_t>(below(3));
  e.kind = static_cast<uint8_t>(below(4));
  e.sample = static_cast<uint8_t>(below(3));
  return e;
}

hello generator::any_hello() {
  hello m;
  m.version_min = static_cast<uint16_t>(between(1, 65535));
  m.version_max = static_cast<uint16_t>(between(m.version_min, 65535));
  m.features = any<uint32_t>();
  m.client_name = name();
  for (uint64_t left = below(drivers_max + 1); left > 0; --left) {
    m.drivers.push_back({text(1, 15), coin(), text(0, why_field_bytes - 1)});
  }
  return m;
}

plan_scope generator::any_plan() {
  plan_scope m;
  m.generation = any<uint64_t>();
  m.scope = static_cast<uint16_t>(below(4));
  m.scopes = static_cast<uint16_t>(between(1, plan_scopes_max));
  m.scope_index = static_cast<uint16_t>(below(m.scopes));
  if (m.scope == scope_point || m.scope == scope_client_point) m.point_name = name();
  m.text = text(1, plan_bytes_max);
  return m;
}

message generator::any_message(message_type type) {
  const auto pages = static_cast<uint32_t>(4096 * between(1, 16));
  switch (type) {
    case message_type::hello:
      return any_hello();
    case message_type::welcome: {
      welcome m;
      m.version = 1;
      m.plan_scopes = static_cast<uint16_t>(between(1, plan_scopes_max));
      m.features = any<uint32_t>();
      if ((m.features & feature_ring) != 0) {
        m.ring_entries = ring_entries_min << below(7);
        m.request_flag = static_cast<uint32_t>(below(request_flags_max));
      }
      m.client_id = any<uint64_t>();
      m.page_bytes = pages;
      m.streams_max = any<uint32_t>();
      m.waits_max = any<uint32_t>();
      m.pages_max = static_cast<uint32_t>(between(1, 16));
      m.plan_generation = any<uint64_t>();
      m.word_wait = text(1, 15);
      m.executor = text(1, 15);
      return m;
    }
    case message_type::page:
      return page{static_cast<uint16_t>(between(1, 15)), pages};
    case message_type::open:
      return open{any<uint64_t>(), any<uint64_t>(), coin(), text(0, name_bytes_max)};
    case message_type::opened: {
      opened m{any<uint64_t>(), any<uint64_t>(), any<uint32_t>(), any<uint32_t>()};
      m.page_index = static_cast<uint16_t>(below(16));
      m.line_index = any<uint16_t>();
      m.slot = static_cast<uint16_t>(below(8));
      return m;
    }
    case message_type::close:
      return close{any<uint64_t>(), any<uint32_t>(), any<uint32_t>(), any<uint64_t>()};
    case message_type::closed:
      return closed{any<uint64_t>()};
    case message_type::plan:
      return any_plan();
    case message_type::point:
      return point{static_cast<uint32_t>(between(1, 256)), name()};
    case message_type::wait: {
      waits m;
      m.entries.resize(between(1, wait_entries_max));
      for (wait& w : m.entries) w = any_wait();
      return m;
    }
    case message_type::cancel:
      return cancel{any<uint64_t>()};
    case message_type::completion: {
      completions m;
      m.entries.resize(between(1, completion_entries_max));
      for (completion_entry& e : m.entries) e = any_completion();
      return m;
    }
    case message_type::probe: {
      probes m;
      m.entries.resize(between(1, probe_entries_max));
      for (probe_entry& e : m.entries) {
        e = {any<uint64_t>(), any<uint64_t>(), any<uint32_t>(), any<uint32_t>()};
      }
      return m;
    }
    case message_type::status: {
      statuses m;
      m.entries.resize(between(1, status_entries_max));
      for (status_entry& e : m.entries) e = any_status();
      return m;
    }
    case message_type::outcome: {
      outcomes m;
      m.entries.resize(between(1, outcome_entries_max));
      for (outcome_entry& e : m.entries) e = any_outcome();
      return m;
    }
    case message_type::error:
      return refusal{any<uint64_t>(), static_cast<uint16_t>(between(1, 65535)), any<uint16_t>(),
                     coin(), text(0, error_text_bytes_max)};
    case message_type::bye:
      return bye{any<uint16_t>()};
    case message_type::ask:
      return ask{any<uint64_t>(), text(1, ask_bytes_max)};
    case message_type::kick:
      return kick{};
    case message_type::answer: {
      answer m{any<uint64_t>(), 0, 0, text(1, answer_part_bytes_max)};
      m.total_bytes = static_cast<uint32_t>(between(m.part.size(), answer_bytes_max));
      m.offset_bytes = static_cast<uint32_t>(below(m.total_bytes - m.part.size() + 1));
      return m;
    }
  }
  return bye{};
}

message_type type_at(size_t index) {
  return static_cast<message_type>(index + 1);
}

TEST(codec, gives_back_every_field_of_every_message) {
  generator make;
  for (size_t index = 0; index < message_types; ++index) {
    for (int round = 0; round < 200; ++round) {
      const message sent = make.any_message(type_at(index));
      ASSERT_EQ(type_of(sent), type_at(index));
      const std::vector<std::byte> frame = encode(sent);
      ASSERT_LE(frame.size(), frame_bytes_max);
      const result<message> got = decode(frame);
      ASSERT_TRUE(got) << name_of(type_at(index)) << ": " << got.error().headline();
      ASSERT_TRUE(*got == sent) << name_of(type_at(index));
    }
  }
}

TEST(codec, writes_the_same_frame_into_a_room_whatever_was_in_it_before) {
  generator make;
  frame_room room;
  for (size_t round = 0; round < 20 * message_types; ++round) {
    const message sent = make.any_message(type_at(round % message_types));
    const std::span<const std::byte> frame = encode(sent, room);
    EXPECT_TRUE(std::ranges::equal(frame, encode(sent))) << name_of(type_of(sent));
  }
}

TEST(codec, takes_random_bytes_without_crashing) {
  generator make;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> frame(make.below(200));
    for (std::byte& byte : frame) byte = static_cast<std::byte>(make.below(256));
    // Half of them with a header that looks right, so that they get further.
    if (make.coin() && frame.size() >= sizeof(header)) {
      const header head{static_cast<uint16_t>(make.between(1, message_types)),
                        static_cast<uint16_t>(make.below(3)), static_cast<uint32_t>(frame.size())};
      std::memcpy(frame.data(), &head, sizeof(head));
    }
    const result<message> got = decode(frame);
    if (got) {
      EXPECT_EQ(encode(*got), frame);
    }
  }
}

// What is taken encodes to the very bytes that came: nothing in a frame is ignored.
TEST(codec, takes_a_right_frame_with_any_byte_changed_only_as_what_it_then_says) {
  generator make;
  for (size_t index = 0; index < message_types; ++index) {
    for (int round = 0; round < 300; ++round) {
      std::vector<std::byte> frame = encode(make.any_message(type_at(index)));
      for (uint64_t spoilt = make.between(1, 3); spoilt > 0; --spoilt) {
        frame[make.below(frame.size())] = static_cast<std::byte>(make.below(256));
      }
      const result<message> got = decode(frame);
      if (!got) continue;
      EXPECT_EQ(encode(*got), frame) << name_of(type_at(index));
    }
  }
}

TEST(codec, refuses_every_length_but_the_right_one) {
  generator make;
  for (size_t index = 0; index < message_types; ++index) {
    const std::vector<std::byte> frame = encode(make.any_message(type_at(index)));
    for (size_t bytes = 0; bytes < frame.size(); ++bytes) {
      std::vector<std::byte> cut(frame.begin(), frame.begin() + static_cast<ptrdiff_t>(bytes));
      EXPECT_FALSE(decode(cut)) << name_of(type_at(index)) << " cut to " << bytes;
      if (bytes < sizeof(header)) continue;
      const auto claimed = static_cast<uint32_t>(bytes);
      std::memcpy(cut.data() + offsetof(header, bytes), &claimed, sizeof(claimed));
      EXPECT_FALSE(decode(cut)) << name_of(type_at(index)) << " claiming " << bytes;
    }
  }
}

TEST(codec, knows_who_sends_what_and_how_many_descriptors_come_along) {
  EXPECT_EQ(sender_of(message_type::hello), sender::client);
  EXPECT_EQ(sender_of(message_type::welcome), sender::server);
  EXPECT_EQ(sender_of(message_type::bye), sender::both);
  generator make;
  for (size_t index = 0; index < message_types; ++index) {
    const message_type type = type_at(index);
    if (type == message_type::welcome || type == message_type::page) continue;
    EXPECT_EQ(descriptors_of(make.any_message(type)), 0u) << name_of(type);
  }
  EXPECT_EQ(descriptors_of(welcome{}), 3u);
  welcome with_ring;
  with_ring.features = feature_ring;
  EXPECT_EQ(descriptors_of(with_ring), 5u);
  EXPECT_EQ(descriptors_of(page{}), 1u);
}

std::string joined(const std::vector<answer>& parts) {
  std::string whole;
  for (const answer& part : parts) {
    EXPECT_EQ(part.offset_bytes, whole.size());
    EXPECT_LE(part.part.size(), answer_part_bytes_max);
    EXPECT_TRUE(decode(encode(part)));
    whole += part.part;
  }
  for (const answer& part : parts) EXPECT_EQ(part.total_bytes, whole.size());
  return whole;
}

TEST(codec, splits_an_answer_into_parts_that_join_to_it) {
  for (const size_t bytes : {size_t{1}, answer_part_bytes_max - 1, answer_part_bytes_max,
                             answer_part_bytes_max + 1, 3 * answer_part_bytes_max}) {
    const std::string json(bytes, 'j');
    const auto parts = split_answer(7, json);
    EXPECT_EQ(joined(parts), json);
    EXPECT_EQ(parts.size(), (bytes + answer_part_bytes_max - 1) / answer_part_bytes_max);
    EXPECT_EQ(parts.front().cookie, 7u);
  }
}

TEST(codec, splits_the_largest_answer) {
  const std::string json(answer_bytes_max, 'j');
  EXPECT_EQ(joined(split_answer(1, json)).size(), answer_bytes_max);
}

TEST(codec, cuts_no_character_of_an_answer_in_two) {
  generator make;
  for (int round = 0; round < 50; ++round) {
    const std::string json = make.text(1, 4 * answer_part_bytes_max);
    EXPECT_EQ(joined(split_answer(1, json)), json);
  }
}

TEST(codec, cuts_and_cleans_the_text_of_a_refusal) {
  refusal long_text;
  long_text.code = 1;
  long_text.text = std::string(error_text_bytes_max - 1, 'x') + "\xc3\xa9" + "tail";
  result<message> got = decode(encode(long_text));
  ASSERT_TRUE(got);
  EXPECT_EQ(std::get<refusal>(*got).text, std::string(error_text_bytes_max - 1, 'x'));

  refusal dirty;
  dirty.code = 1;
  dirty.text = std::string("a\0b\xff\n\x1b", 6);
  got = decode(encode(dirty));
  ASSERT_TRUE(got);
  EXPECT_EQ(std::get<refusal>(*got).text, "a?b???");
}

TEST(codec, cuts_and_cleans_a_drivers_reason_and_a_calls_name) {
  hello h;
  h.client_name = "c";
  h.drivers.push_back({"cuda", false, "\x80" + std::string(200, 'w')});
  const result<message> got = decode(encode(h));
  ASSERT_TRUE(got);
  EXPECT_EQ(std::get<hello>(*got).drivers[0].why, "?" + std::string(126, 'w'));

  char field[call_field_bytes];
  std::memset(field, 'z', sizeof(field));
  set_call(field, "cu\nEvent");
  EXPECT_STREQ(field, "cu?Event");
  set_call(field, std::string(60, 'k'));
  EXPECT_EQ(std::string(field), std::string(47, 'k'));
}

TEST(codec, refuses_to_encode_what_is_ours_and_does_not_fit) {
  hello nameless;
  EXPECT_FALSE(decode(encode(nameless)));
  point long_name{1, std::string(64, 'n')};
  EXPECT_DEATH(encode(long_name), "assertion failed");
  EXPECT_DEATH(encode(probes{}), "assertion failed");
  plan_scope long_text;
  long_text.text = std::string(513, 'p');
  EXPECT_DEATH(encode(long_text), "assertion failed");
}

TEST(codec, tells_names_from_what_is_none) {
  EXPECT_TRUE(valid_name("a"));
  EXPECT_TRUE(valid_name(std::string(63, 'a')));
  EXPECT_TRUE(valid_name("h\xc3\xa9llo w\xc3\xb6rld"));
  EXPECT_FALSE(valid_name(""));
  EXPECT_FALSE(valid_name(std::string(64, 'a')));
  EXPECT_FALSE(valid_name("a\nb"));
  EXPECT_FALSE(valid_name(std::string_view("a\0b", 3)));
  EXPECT_FALSE(valid_name("\xc3"));
  EXPECT_FALSE(valid_name("\xc2\x80"));
  EXPECT_FALSE(valid_name("\x7f"));
}

// Against a decoder of the other kind: decode to a number, then ask whether the number may be.
bool well_formed_by_arithmetic(const unsigned char* bytes, size_t size) {
  size_t at = 0;
  while (at < size) {
    const unsigned lead = bytes[at];
    const size_t tail = lead < 0x80 ? 0 : lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if ((lead >= 0x80 && lead < 0xc0) || lead >= 0xf8 || at + tail >= size) return false;
    uint32_t code = tail == 0 ? lead : lead & (0x3fu >> tail);
    for (size_t i = 1; i <= tail; ++i) {
      if (bytes[at + i] >> 6 != 2) return false;
      code = code << 6 | (bytes[at + i] & 0x3fu);
    }
    const uint32_t smallest[] = {0, 0x80, 0x800, 0x10000};
    if (code < smallest[tail] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    at += tail + 1;
  }
  return true;
}

TEST(utf8, agrees_with_arithmetic_on_every_text_of_up_to_three_bytes) {
  unsigned char bytes[3];
  for (uint32_t all = 0; all < 1u << 24; ++all) {
    for (size_t i = 0; i < 3; ++i) bytes[i] = static_cast<unsigned char>(all >> (16 - 8 * i));
    const bool ours = valid_utf8({reinterpret_cast<const char*>(bytes), 3});
    if (ours != well_formed_by_arithmetic(bytes, 3)) {
      ADD_FAILURE() << "bytes " << std::hex << all;
      return;
    }
  }
}

TEST(utf8, agrees_with_arithmetic_on_every_start_of_four_bytes) {
  unsigned char bytes[4];
  const unsigned char tails[] = {0x00, 0x7f, 0x80, 0x8f, 0xbf, 0xc0, 0xff};
  for (uint32_t start = 0; start < 1u << 16; ++start) {
    bytes[0] = static_cast<unsigned char>(start >> 8);
    bytes[1] = static_cast<unsigned char>(start);
    for (const unsigned char third : tails) {
      for (const unsigned char fourth : tails) {
        bytes[2] = third;
        bytes[3] = fourth;
        ASSERT_EQ(valid_utf8({reinterpret_cast<const char*>(bytes), 4}),
                  well_formed_by_arithmetic(bytes, 4))
            << std::hex << start << " " << int(third) << " " << int(fourth);
      }
    }
  }
}

TEST(utf8, cleans_any_bytes_into_plain_text_that_fits) {
  generator make;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(make.below(40), '\0');
    for (char& c : bytes) c = static_cast<char>(make.below(256));
    const size_t bytes_max = make.below(40);
    const std::string clean = clean_text(bytes, bytes_max);
    EXPECT_LE(clean.size(), bytes_max);
    EXPECT_TRUE(valid_plain_text(clean));
  }
  EXPECT_EQ(clean_text("h\xc3\xa9llo", 63), "h\xc3\xa9llo");
}

}  // namespace
}  // namespace gar::proto
