// Codec: frames to messages and back, with everything checked that can be checked without state.
//
// A frame that a peer sent is decoded once, into values of our own; what it claims about itself
// (type, count, length, enumerations, NUL-terminated names, reserved zeros, UTF-8) is checked here,
// so that whoever holds a message may rely on it. What it refers to (streams, cookies, points) is
// the session's to check.
//
// Errors: MalformedMessage{what}, UnknownMessage{type}.
// Threads: pure functions. Allocation: names, texts and entries are copied; encoding into a room
// needs none of its own.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lib/core/error.hpp"
#include "proto/wire.hpp"

namespace gar::proto {

struct driver_state {
  std::string name;
  bool available = false;
  std::string why;
  bool operator==(const driver_state&) const = default;
};

struct hello {
  uint16_t version_min = proto::version_min;
  uint16_t version_max = proto::version_max;
  uint32_t features = 0;
  std::string client_name;
  std::vector<driver_state> drivers;
  bool operator==(const hello&) const = default;
};
struct welcome {
  uint16_t version = 0;
  uint16_t plan_scopes = 0;
  uint32_t features = 0;
  uint64_t client_id = 0;
  uint32_t page_bytes = 0;
  uint32_t streams_max = 0;
  uint32_t waits_max = 0;
  uint32_t pages_max = 0;
  uint64_t plan_generation = 0;
  std::string word_wait;
  std::string executor;
  uint32_t ring_entries = 0;  // a power of two with feature_ring, else 0
  uint32_t request_flag = 0;
  bool operator==(const welcome&) const = default;
};
struct page {
  uint16_t page_index = 0;
  uint32_t page_bytes = 0;
  bool operator==(const page&) const = default;
};
struct open {
  uint64_t cookie = 0;
  uint64_t base = 0;
  uint8_t authority = authority_owner;
  std::string stream_name;
  bool operator==(const open&) const = default;
};
struct opened {
  uint64_t cookie = 0;
  uint64_t base = 0;
  uint32_t stream = 0;
  uint32_t stream_generation = 0;
  uint16_t page_index = 0;
  uint16_t line_index = 0;
  uint16_t slot = 0;
  bool operator==(const opened&) const = default;
};
struct close {
  uint64_t cookie = 0;
  uint32_t stream = 0;
  uint32_t stream_generation = 0;
  uint64_t last_sequence = 0;
  bool operator==(const close&) const = default;
};
struct closed {
  uint64_t cookie = 0;
  bool operator==(const closed&) const = default;
};
struct plan_scope {
  uint64_t generation = 0;
  uint16_t scope = scope_default;
  uint16_t scope_index = 0;
  uint16_t scopes = 1;
  std::string point_name;
  std::string text;
  bool operator==(const plan_scope&) const = default;
};
struct point {
  uint32_t point_number = 0;
  std::string point_name;
  bool operator==(const point&) const = default;
};
struct wait {
  uint64_t cookie = 0;
  uint64_t target = 0;
  uint64_t age_ns = 0;
  uint64_t timeout_ns = 0;
  uint64_t plan_generation = 0;
  uint32_t stream = 0;
  uint32_t stream_generation = 0;
  uint32_t point_number = 0;
  uint32_t rows = 0;
  bool operator==(const wait&) const = default;
};
struct waits {
  waits() = default;
  waits(std::vector<wait> all) : entries(std::move(all)) {}
  waits(wait one) : entries{one} {}
  std::vector<wait> entries;
  bool operator==(const waits&) const = default;
};
struct cancel {
  uint64_t cookie = 0;
  bool operator==(const cancel&) const = default;
};
struct completions {
  std::vector<completion_entry> entries;
};
struct probes {
  std::vector<probe_entry> entries;
};
struct statuses {
  std::vector<status_entry> entries;
};
struct outcomes {
  std::vector<outcome_entry> entries;
};
struct refusal {
  uint64_t cookie = 0;
  uint16_t code = 0;
  uint16_t request_type = 0;
  bool fatal = false;
  std::string text;
  bool operator==(const refusal&) const = default;
};
struct bye {
  uint16_t code = 0;
  bool operator==(const bye&) const = default;
};
struct ask {
  uint64_t cookie = 0;
  std::string json;
  bool operator==(const ask&) const = default;
};
struct answer {
  uint64_t cookie = 0;
  uint32_t offset_bytes = 0;
  uint32_t total_bytes = 0;
  std::string part;
  bool operator==(const answer&) const = default;
};

struct kick {
  bool operator==(const kick&) const = default;
};

using message =
    std::variant<hello, welcome, page, open, opened, close, closed, plan_scope, point, waits,
                 cancel, completions, probes, statuses, outcomes, refusal, bye, ask, answer, kick>;

// Which end may send it. A message that only the other end sends is OutOfState for the receiver.
enum class sender : uint8_t { client, server, both };
sender sender_of(message_type type);
std::string_view name_of(message_type type);
message_type type_of(const message& m);
// Descriptors that come with it: welcome 3, or 5 with a ring; page 1; others 0.
size_t descriptors_of(const message& m);

// A frame as one SEQPACKET message delivered it.
result<message> decode(std::span<const std::byte> frame);

// Where one frame is written, whatever message it is.
class frame_room {
 public:
  // The next frame's bytes, all 0.
  std::span<std::byte> take(size_t bytes) {
    GAR_ASSERT(bytes <= room_.size());
    bytes_ = bytes;
    const std::span<std::byte> taken = std::span(room_).first(bytes);
    std::fill(taken.begin(), taken.end(), std::byte{});
    return taken;
  }
  std::span<const std::byte> frame() const { return std::span(room_).first(bytes_); }

 private:
  std::array<std::byte, frame_bytes_max> room_;
  size_t bytes_ = 0;
};

// Bytes to send. GAR_ASSERT on names, plans, asks and counts that do not fit: they are ours, and
// checked where they come in. What may quote others, a refusal's text and a driver's reason, is cut
// and cleaned to fit. Entries beyond `*_entries_max` must be split by the caller. Into a room: that
// of the bytes given, and no allocation but for a hello and a refusal.
std::vector<std::byte> encode(const message& m);
std::span<const std::byte> encode(const message& m, frame_room& into);

// How many entries of each kind fit into one frame.
inline constexpr size_t wait_entries_max = (frame_bytes_max - sizeof(header)) / sizeof(wait_entry);
inline constexpr size_t completion_entries_max =
    (frame_bytes_max - sizeof(header)) / sizeof(completion_entry);
inline constexpr size_t probe_entries_max =
    (frame_bytes_max - sizeof(header)) / sizeof(probe_entry);
inline constexpr size_t status_entries_max =
    (frame_bytes_max - sizeof(header)) / sizeof(status_entry);
inline constexpr size_t outcome_entries_max =
    (frame_bytes_max - sizeof(header)) / sizeof(outcome_entry);
inline constexpr size_t answer_part_bytes_max = frame_bytes_max - sizeof(answer_fixed);

// Splits an answer of 1..answer_bytes_max bytes of UTF-8 into as many messages as it takes, never
// within a character.
std::vector<answer> split_answer(uint64_t cookie, std::string_view json);

// What is wrong with an entry by itself, wherever it came from; null: nothing.
const char* outcome_fault(const outcome_entry& entry);

// Is this 1..63 bytes of UTF-8 without control characters? The rule for client and point names.
bool valid_name(std::string_view name);

// Copies a vendor call's name into an entry's field, cut and cleaned to fit: it may come from a
// program's own device.
void set_call(char (&field)[call_field_bytes], std::string_view call);

}  // namespace gar::proto
