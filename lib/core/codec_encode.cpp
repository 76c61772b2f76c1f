#include <cstring>
#include <string>

#include "lib/core/codec.hpp"
#include "lib/core/message_layout.hpp"
#include "lib/core/utf8.hpp"

namespace gar::proto {
namespace {

using bytes = std::vector<std::byte>;

// A frame of the right length, filled with 0 behind its header and fixed part.
template <class Fixed>
bytes start(message_type type, Fixed fixed, size_t count = 0) {
  const message_layout& layout = layout_of(type);
  GAR_ASSERT(sizeof(Fixed) == layout.fixed_bytes);
  GAR_ASSERT(count >= layout.count_min && count <= layout.count_max);
  const size_t frame_bytes = layout.fixed_bytes + count * layout.entry_bytes;
  header head;
  head.type = static_cast<uint16_t>(type);
  head.count = static_cast<uint16_t>(count);
  head.bytes = static_cast<uint32_t>(frame_bytes);
  std::memcpy(&fixed, &head, sizeof(head));
  bytes frame(frame_bytes);
  std::memcpy(frame.data(), &fixed, sizeof(fixed));
  return frame;
}

template <class Fixed>
bytes with_text(message_type type, const Fixed& fixed, std::string_view text) {
  GAR_ASSERT(valid_utf8(text) && text.find('\0') == std::string_view::npos);
  bytes frame = start(type, fixed, text.size());
  if (!text.empty()) std::memcpy(frame.data() + sizeof(fixed), text.data(), text.size());
  return frame;
}

template <class Fixed, class Entry>
bytes with_entries(message_type type, const Fixed& fixed, const std::vector<Entry>& entries) {
  GAR_ASSERT(sizeof(Entry) == layout_of(type).entry_bytes);
  bytes frame = start(type, fixed, entries.size());
  if (!entries.empty()) {
    std::memcpy(frame.data() + sizeof(fixed), entries.data(), entries.size() * sizeof(Entry));
  }
  return frame;
}

// Into a field that is all 0.
template <size_t field_bytes>
void set_field(char (&field)[field_bytes], std::string_view text) {
  GAR_ASSERT(text.size() < field_bytes && valid_plain_text(text));
  if (!text.empty()) std::memcpy(field, text.data(), text.size());
}

bytes give(const hello& m) {
  hello_fixed fixed{};
  fixed.version_min = m.version_min;
  fixed.version_max = m.version_max;
  fixed.features = m.features;
  set_field(fixed.client_name, m.client_name);
  std::vector<driver_entry> drivers;
  for (const driver_state& driver : m.drivers) {
    driver_entry& entry = drivers.emplace_back();
    set_field(entry.name, driver.name);
    entry.available = driver.available ? 1 : 0;
    set_field(entry.why, clean_text(driver.why, why_field_bytes - 1));
  }
  return with_entries(message_type::hello, fixed, drivers);
}

bytes give(const welcome& m) {
  welcome_fixed fixed{};
  fixed.version = m.version;
  fixed.plan_scopes = m.plan_scopes;
  fixed.features = m.features;
  fixed.client_id = m.client_id;
  fixed.page_bytes = m.page_bytes;
  fixed.streams_max = m.streams_max;
  fixed.waits_max = m.waits_max;
  fixed.pages_max = m.pages_max;
  fixed.plan_generation = m.plan_generation;
  set_field(fixed.word_wait, m.word_wait);
  set_field(fixed.executor, m.executor);
  fixed.ring_entries = m.ring_entries;
  fixed.request_flag = m.request_flag;
  return start(message_type::welcome, fixed);
}

bytes give(const page& m) {
  page_fixed fixed{};
  fixed.page_index = m.page_index;
  fixed.page_bytes = m.page_bytes;
  return start(message_type::page, fixed);
}

bytes give(const open& m) {
  open_fixed fixed{};
  fixed.cookie = m.cookie;
  fixed.base = m.base;
  fixed.authority = m.authority;
  set_field(fixed.stream_name, m.stream_name);
  return start(message_type::open, fixed);
}

bytes give(const opened& m) {
  opened_fixed fixed{};
  fixed.cookie = m.cookie;
  fixed.base = m.base;
  fixed.stream = m.stream;
  fixed.stream_generation = m.stream_generation;
  fixed.page_index = m.page_index;
  fixed.line_index = m.line_index;
  fixed.slot = m.slot;
  return start(message_type::opened, fixed);
}

bytes give(const close& m) {
  close_fixed fixed{};
  fixed.cookie = m.cookie;
  fixed.stream = m.stream;
  fixed.stream_generation = m.stream_generation;
  fixed.last_sequence = m.last_sequence;
  return start(message_type::close, fixed);
}

bytes give(const closed& m) {
  closed_fixed fixed{};
  fixed.cookie = m.cookie;
  return start(message_type::closed, fixed);
}

bytes give(const plan_scope& m) {
  plan_fixed fixed{};
  fixed.generation = m.generation;
  fixed.scope = m.scope;
  fixed.scope_index = m.scope_index;
  fixed.scopes = m.scopes;
  set_field(fixed.point_name, m.point_name);
  return with_text(message_type::plan, fixed, m.text);
}

bytes give(const point& m) {
  point_fixed fixed{};
  fixed.point = m.point_number;
  set_field(fixed.point_name, m.point_name);
  return start(message_type::point, fixed);
}

bytes give(const waits& m) {
  std::vector<wait_entry> entries;
  entries.reserve(m.entries.size());
  for (const wait& w : m.entries) {
    entries.push_back({w.cookie, w.target, w.age_ns, w.timeout_ns, w.plan_generation, w.stream,
                       w.stream_generation, w.point_number, w.rows});
  }
  return with_entries(message_type::wait, header{}, entries);
}

bytes give(const cancel& m) {
  cancel_fixed fixed{};
  fixed.cookie = m.cookie;
  return start(message_type::cancel, fixed);
}

bytes give(const completions& m) {
  return with_entries(message_type::completion, header{}, m.entries);
}

bytes give(const probes& m) {
  return with_entries(message_type::probe, header{}, m.entries);
}

bytes give(const statuses& m) {
  return with_entries(message_type::status, header{}, m.entries);
}

bytes give(const outcomes& m) {
  return with_entries(message_type::outcome, header{}, m.entries);
}

bytes give(const refusal& m) {
  error_fixed fixed{};
  fixed.cookie = m.cookie;
  fixed.code = m.code;
  fixed.request_type = m.request_type;
  fixed.fatal = m.fatal ? 1 : 0;
  return with_text(message_type::error, fixed, clean_text(m.text, error_text_bytes_max));
}

bytes give(const bye& m) {
  bye_fixed fixed{};
  fixed.code = m.code;
  return start(message_type::bye, fixed);
}

bytes give(const ask& m) {
  ask_fixed fixed{};
  fixed.cookie = m.cookie;
  return with_text(message_type::ask, fixed, m.json);
}

bytes give(const answer& m) {
  answer_fixed fixed{};
  fixed.cookie = m.cookie;
  fixed.offset_bytes = m.offset_bytes;
  fixed.total_bytes = m.total_bytes;
  return with_text(message_type::answer, fixed, m.part);
}

bytes give(const kick&) {
  return start(message_type::kick, header{});
}

}  // namespace

std::vector<std::byte> encode(const message& m) {
  return std::visit([](const auto& value) { return give(value); }, m);
}

}  // namespace gar::proto
