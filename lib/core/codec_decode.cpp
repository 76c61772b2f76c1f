#include <algorithm>
#include <cstring>
#include <string>

#include "lib/core/codec.hpp"
#include "lib/core/message_layout.hpp"
#include "lib/core/utf8.hpp"
#include "proto/pages.hpp"
#include "proto/ring.hpp"

namespace gar::proto {
namespace {

static_assert(std::variant_size_v<message> == 20, "every message has a take() below");

// A frame whose length and count are right, and the first thing found wrong in it since.
class reading {
 public:
  reading(std::span<const std::byte> frame, const header& head, const message_layout& layout)
      : frame_(frame), count_(head.count), layout_(layout) {}

  size_t count() const { return count_; }
  const char* fault() const { return fault_; }

  void need(bool right, const char* fault) {
    if (!right && fault_ == nullptr) fault_ = fault;
  }

  template <class Fixed>
  Fixed fixed() const {
    Fixed copy;
    std::memcpy(&copy, frame_.data(), sizeof(copy));
    return copy;
  }

  template <class Entry>
  std::vector<Entry> entries() const {
    std::vector<Entry> copies(count_);
    if (count_ != 0) {
      std::memcpy(copies.data(), frame_.data() + layout_.fixed_bytes, count_ * sizeof(Entry));
    }
    return copies;
  }

  // The text behind the fixed part.
  std::string text() {
    std::string copy(reinterpret_cast<const char*>(frame_.data()) + layout_.fixed_bytes, count_);
    need(valid_utf8(copy), "the text is not UTF-8");
    need(copy.find('\0') == std::string::npos, "the text holds a NUL");
    return copy;
  }

  // The same, for people to read: no control characters.
  std::string plain_text() {
    std::string copy = text();
    need(valid_plain_text(copy), "the text holds a control character");
    return copy;
  }

  // A text in a field: ends in NUL, padded with NULs, no control characters; may be empty.
  template <size_t field_bytes>
  std::string field(const char (&field)[field_bytes], const char* fault) {
    const char* end = std::find(field, field + field_bytes, '\0');
    need(end != field + field_bytes, fault);
    need(std::all_of(end, field + field_bytes, [](char c) { return c == '\0'; }), fault);
    std::string copy(field, end);
    need(valid_plain_text(copy), fault);
    return copy;
  }

  // The same, and not empty.
  template <size_t field_bytes>
  std::string name(const char (&bytes)[field_bytes], const char* fault) {
    std::string copy = field(bytes, fault);
    need(!copy.empty(), fault);
    return copy;
  }

  template <class Integer, size_t count>
  void reserved(const Integer (&values)[count]) {
    for (const Integer value : values) reserved(value);
  }
  template <class Integer>
  void reserved(Integer value) {
    need(value == 0, "a reserved field is not 0");
  }

 private:
  std::span<const std::byte> frame_;
  size_t count_;
  const message_layout& layout_;
  const char* fault_ = nullptr;
};

bool whole_pages(uint32_t page_bytes) {
  return page_bytes >= page_bytes_min && page_bytes % page_bytes_min == 0;
}

message take_hello(reading& r) {
  const auto fixed = r.fixed<hello_fixed>();
  r.need(fixed.version_min >= 1 && fixed.version_min <= fixed.version_max,
         "the versions are not a range that starts at 1 or above");
  hello m{fixed.version_min, fixed.version_max, fixed.features, {}, {}};
  m.client_name = r.name(fixed.client_name, "the client's name is not 1..63 bytes of plain UTF-8");
  for (const driver_entry& entry : r.entries<driver_entry>()) {
    r.need(entry.available <= 1, "a driver's availability is neither 0 nor 1");
    r.reserved(entry.reserved);
    driver_state driver;
    driver.name = r.name(entry.name, "a driver's name is not 1..15 bytes of plain UTF-8");
    driver.available = entry.available == 1;
    driver.why = r.field(entry.why, "a driver's reason is not 0..127 bytes of plain UTF-8");
    m.drivers.push_back(std::move(driver));
  }
  return m;
}

message take_welcome(reading& r) {
  const auto fixed = r.fixed<welcome_fixed>();
  r.need(fixed.version >= 1, "the version is 0");
  r.need(fixed.plan_scopes >= 1 && fixed.plan_scopes <= plan_scopes_max,
         "the number of scopes is not 1..8192");
  r.need(whole_pages(fixed.page_bytes), "the page's size is not a multiple of 4096");
  r.need(fixed.pages_max >= 1 && fixed.pages_max <= pages_per_client_max,
         "the number of pages is not 1..16");
  welcome m;
  m.version = fixed.version;
  m.plan_scopes = fixed.plan_scopes;
  m.features = fixed.features;
  m.client_id = fixed.client_id;
  m.page_bytes = fixed.page_bytes;
  m.streams_max = fixed.streams_max;
  m.waits_max = fixed.waits_max;
  m.pages_max = fixed.pages_max;
  m.plan_generation = fixed.plan_generation;
  m.word_wait = r.name(fixed.word_wait, "the word wait is not 1..15 bytes of plain UTF-8");
  m.executor = r.name(fixed.executor, "the executor is not 1..15 bytes of plain UTF-8");
  const bool ring = (fixed.features & feature_ring) != 0;
  r.need(ring ? valid_ring_entries(fixed.ring_entries) : fixed.ring_entries == 0,
         "the ring's entries are not a power of two in 64..4096, or 0 without a ring");
  r.need(fixed.request_flag < (ring ? request_flags_max : 1),
         "the request flag is not 0..3071, or 0 without a ring");
  m.ring_entries = fixed.ring_entries;
  m.request_flag = fixed.request_flag;
  return m;
}

message take_page(reading& r) {
  const auto fixed = r.fixed<page_fixed>();
  r.need(fixed.page_index >= 1 && fixed.page_index < pages_per_client_max,
         "the page's index is not 1..15");
  r.need(whole_pages(fixed.page_bytes), "the page's size is not a multiple of 4096");
  r.reserved(fixed.reserved);
  return page{fixed.page_index, fixed.page_bytes};
}

message take_open(reading& r) {
  const auto fixed = r.fixed<open_fixed>();
  r.need(fixed.authority <= authority_word, "the authority is neither owner nor word");
  r.reserved(fixed.reserved);
  open m{fixed.cookie, fixed.base, fixed.authority, {}};
  m.stream_name = r.field(fixed.stream_name, "the stream's name is not 0..63 bytes of plain UTF-8");
  return m;
}

message take_opened(reading& r) {
  const auto fixed = r.fixed<opened_fixed>();
  r.need(fixed.page_index < pages_per_client_max, "the page's index is not 0..15");
  r.need(fixed.slot < words_per_line, "the slot is not 0..7");
  r.reserved(fixed.reserved);
  opened m;
  m.cookie = fixed.cookie;
  m.base = fixed.base;
  m.stream = fixed.stream;
  m.stream_generation = fixed.stream_generation;
  m.page_index = fixed.page_index;
  m.line_index = fixed.line_index;
  m.slot = fixed.slot;
  return m;
}

message take_close(reading& r) {
  const auto fixed = r.fixed<close_fixed>();
  return close{fixed.cookie, fixed.stream, fixed.stream_generation, fixed.last_sequence};
}

message take_closed(reading& r) {
  return closed{r.fixed<closed_fixed>().cookie};
}

message take_plan(reading& r) {
  const auto fixed = r.fixed<plan_fixed>();
  r.need(fixed.scope <= scope_client_point, "the scope is not 0..3");
  r.need(fixed.scopes >= 1 && fixed.scopes <= plan_scopes_max,
         "the number of scopes is not 1..8192");
  r.need(fixed.scope_index < fixed.scopes, "the scope's index is not below the number of scopes");
  r.reserved(fixed.reserved);
  plan_scope m{fixed.generation, fixed.scope, fixed.scope_index, fixed.scopes, {}, {}};
  m.point_name = r.field(fixed.point_name, "the point's name is not 0..63 bytes of plain UTF-8");
  const bool names_point = fixed.scope == scope_point || fixed.scope == scope_client_point;
  r.need(m.point_name.empty() != names_point, "the scope and the point's name disagree");
  m.text = r.plain_text();
  return m;
}

message take_point(reading& r) {
  const auto fixed = r.fixed<point_fixed>();
  r.need(fixed.point >= 1 && fixed.point <= points_per_client_max,
         "the point's number is not 1..256");
  r.reserved(fixed.reserved);
  point m{fixed.point, {}};
  m.point_name = r.name(fixed.point_name, "the point's name is not 1..63 bytes of plain UTF-8");
  return m;
}

message take_wait(reading& r) {
  waits m;
  m.entries.reserve(r.count());
  for (const wait_entry& e : r.entries<wait_entry>()) {
    r.need(e.point <= points_per_client_max, "the point's number is not 0..256");
    m.entries.push_back({e.cookie, e.target, e.age_ns, e.timeout_ns, e.plan_generation, e.stream,
                         e.stream_generation, e.point, e.rows});
  }
  return m;
}

message take_cancel(reading& r) {
  return cancel{r.fixed<cancel_fixed>().cookie};
}

message take_completion(reading& r) {
  completions m{r.entries<completion_entry>()};
  for (const completion_entry& entry : m.entries) {
    r.need(entry.kind <= kind_parked, "the kind is not 0..3");
    r.need(entry.confirmed <= 1, "confirmed is neither 0 nor 1");
    r.field(entry.call, "the call is not 0..47 bytes of plain UTF-8");
  }
  return m;
}

message take_probe(reading& r) {
  return probes{r.entries<probe_entry>()};
}

message take_status(reading& r) {
  statuses m{r.entries<status_entry>()};
  for (const status_entry& entry : m.entries) {
    r.need(entry.state <= probe_failed, "the state is not pending, done or failed");
    r.reserved(entry.reserved);
    r.field(entry.call, "the call is not 0..47 bytes of plain UTF-8");
  }
  return m;
}

message take_outcome(reading& r) {
  outcomes m{r.entries<outcome_entry>()};
  for (const outcome_entry& entry : m.entries) {
    const char* fault = outcome_fault(entry);
    r.need(fault == nullptr, fault);
  }
  return m;
}

message take_error(reading& r) {
  const auto fixed = r.fixed<error_fixed>();
  r.need(fixed.code != 0, "the error's number is 0");
  r.need(fixed.fatal <= 1, "fatal is neither 0 nor 1");
  r.reserved(fixed.reserved);
  refusal m{fixed.cookie, fixed.code, fixed.request_type, fixed.fatal == 1, {}};
  m.text = r.plain_text();
  return m;
}

message take_bye(reading& r) {
  const auto fixed = r.fixed<bye_fixed>();
  r.reserved(fixed.reserved);
  return bye{fixed.code};
}

message take_ask(reading& r) {
  ask m{r.fixed<ask_fixed>().cookie, {}};
  m.json = r.text();
  return m;
}

message take_answer(reading& r) {
  const auto fixed = r.fixed<answer_fixed>();
  r.need(fixed.total_bytes <= answer_bytes_max, "the answer is larger than 16 MiB");
  r.need(fixed.offset_bytes <= fixed.total_bytes &&
             r.count() <= fixed.total_bytes - fixed.offset_bytes,
         "the part does not lie in the answer");
  answer m{fixed.cookie, fixed.offset_bytes, fixed.total_bytes, {}};
  m.part = r.text();
  return m;
}

message take(message_type type, reading& r) {
  switch (type) {
    case message_type::hello:
      return take_hello(r);
    case message_type::welcome:
      return take_welcome(r);
    case message_type::page:
      return take_page(r);
    case message_type::open:
      return take_open(r);
    case message_type::opened:
      return take_opened(r);
    case message_type::close:
      return take_close(r);
    case message_type::closed:
      return take_closed(r);
    case message_type::plan:
      return take_plan(r);
    case message_type::point:
      return take_point(r);
    case message_type::wait:
      return take_wait(r);
    case message_type::cancel:
      return take_cancel(r);
    case message_type::completion:
      return take_completion(r);
    case message_type::probe:
      return take_probe(r);
    case message_type::status:
      return take_status(r);
    case message_type::outcome:
      return take_outcome(r);
    case message_type::error:
      return take_error(r);
    case message_type::bye:
      return take_bye(r);
    case message_type::ask:
      return take_ask(r);
    case message_type::answer:
      return take_answer(r);
    case message_type::kick:
      return kick{};
  }
  assertion_failed("a known message type", __FILE__, __LINE__);
}

error malformed(std::string_view what, std::string_view fault) {
  return {errc::MalformedMessage, {std::string(what) + ": " + std::string(fault)}};
}

}  // namespace

result<message> decode(std::span<const std::byte> frame) {
  if (frame.size() < sizeof(header)) return malformed("frame", "shorter than a header");
  if (frame.size() > frame_bytes_max) return malformed("frame", "longer than 4096 bytes");
  header head;
  std::memcpy(&head, frame.data(), sizeof(head));
  if (head.bytes != frame.size()) return malformed("frame", "its length is not what it says");
  if (!known_type(head.type)) return error{errc::UnknownMessage, {std::to_string(head.type)}};

  const auto type = static_cast<message_type>(head.type);
  const message_layout& layout = layout_of(type);
  if (head.count < layout.count_min) return malformed(layout.name, "the count is too small");
  if (head.count > layout.count_max) return malformed(layout.name, "the count is too large");
  if (frame.size() != layout.fixed_bytes + head.count * layout.entry_bytes) {
    return malformed(layout.name, "its length does not fit its count");
  }
  reading r(frame, head, layout);
  message m = take(type, r);
  if (r.fault() != nullptr) return malformed(layout.name, r.fault());
  return m;
}

}  // namespace gar::proto
