#include <cstring>
#include <string>

#include "lib/core/codec.hpp"
#include "lib/core/message_layout.hpp"
#include "lib/core/utf8.hpp"

namespace gar::proto {
namespace {

// A frame of the right length, filled with 0 behind its header and fixed part: that part is given.
template <class Fixed>
std::span<std::byte> start(frame_room& into, message_type type, Fixed fixed, size_t count = 0) {
  const message_layout& layout = layout_of(type);
  GAR_ASSERT(sizeof(Fixed) == layout.fixed_bytes);
  GAR_ASSERT(count >= layout.count_min && count <= layout.count_max);
  const size_t frame_bytes = layout.fixed_bytes + count * layout.entry_bytes;
  header head;
  head.type = static_cast<uint16_t>(type);
  head.count = static_cast<uint16_t>(count);
  head.bytes = static_cast<uint32_t>(frame_bytes);
  std::memcpy(&fixed, &head, sizeof(head));
  const std::span<std::byte> frame = into.take(frame_bytes);
  std::memcpy(frame.data(), &fixed, sizeof(fixed));
  return frame.subspan(sizeof(fixed));
}

template <class Fixed>
void with_text(frame_room& into, message_type type, const Fixed& fixed, std::string_view text) {
  GAR_ASSERT(valid_utf8(text) && text.find('\0') == std::string_view::npos);
  const std::span<std::byte> rest = start(into, type, fixed, text.size());
  if (!text.empty()) std::memcpy(rest.data(), text.data(), text.size());
}

template <class Fixed, class Entry>
void with_entries(frame_room& into, message_type type, const Fixed& fixed,
                  const std::vector<Entry>& entries) {
  GAR_ASSERT(sizeof(Entry) == layout_of(type).entry_bytes);
  const std::span<std::byte> rest = start(into, type, fixed, entries.size());
  if (!entries.empty()) std::memcpy(rest.data(), entries.data(), entries.size() * sizeof(Entry));
}

// Into a field that is all 0.
template <size_t field_bytes>
void set_field(char (&field)[field_bytes], std::string_view text) {
  GAR_ASSERT(text.size() < field_bytes && valid_plain_text(text));
  if (!text.empty()) std::memcpy(field, text.data(), text.size());
}

void give(const hello& m, frame_room& into) {
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
  with_entries(into, message_type::hello, fixed, drivers);
}

void give(const welcome& m, frame_room& into) {
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
  start(into, message_type::welcome, fixed);
}

void give(const page& m, frame_room& into) {
  page_fixed fixed{};
  fixed.page_index = m.page_index;
  fixed.page_bytes = m.page_bytes;
  start(into, message_type::page, fixed);
}

void give(const open& m, frame_room& into) {
  open_fixed fixed{};
  fixed.cookie = m.cookie;
  fixed.base = m.base;
  fixed.authority = m.authority;
  set_field(fixed.stream_name, m.stream_name);
  start(into, message_type::open, fixed);
}

void give(const opened& m, frame_room& into) {
  opened_fixed fixed{};
  fixed.cookie = m.cookie;
  fixed.base = m.base;
  fixed.stream = m.stream;
  fixed.stream_generation = m.stream_generation;
  fixed.page_index = m.page_index;
  fixed.line_index = m.line_index;
  fixed.slot = m.slot;
  start(into, message_type::opened, fixed);
}

void give(const close& m, frame_room& into) {
  close_fixed fixed{};
  fixed.cookie = m.cookie;
  fixed.stream = m.stream;
  fixed.stream_generation = m.stream_generation;
  fixed.last_sequence = m.last_sequence;
  start(into, message_type::close, fixed);
}

void give(const closed& m, frame_room& into) {
  closed_fixed fixed{};
  fixed.cookie = m.cookie;
  start(into, message_type::closed, fixed);
}

void give(const plan_scope& m, frame_room& into) {
  plan_fixed fixed{};
  fixed.generation = m.generation;
  fixed.scope = m.scope;
  fixed.scope_index = m.scope_index;
  fixed.scopes = m.scopes;
  set_field(fixed.point_name, m.point_name);
  with_text(into, message_type::plan, fixed, m.text);
}

void give(const point& m, frame_room& into) {
  point_fixed fixed{};
  fixed.point = m.point_number;
  set_field(fixed.point_name, m.point_name);
  start(into, message_type::point, fixed);
}

void give(const waits& m, frame_room& into) {
  std::span<std::byte> rest = start(into, message_type::wait, header{}, m.entries.size());
  for (const wait& w : m.entries) {
    const wait_entry entry{w.cookie,
                           w.target,
                           w.age_ns,
                           w.timeout_ns,
                           w.plan_generation,
                           w.stream,
                           w.stream_generation,
                           w.point_number,
                           w.rows};
    std::memcpy(rest.data(), &entry, sizeof(entry));
    rest = rest.subspan(sizeof(entry));
  }
}

void give(const cancel& m, frame_room& into) {
  cancel_fixed fixed{};
  fixed.cookie = m.cookie;
  start(into, message_type::cancel, fixed);
}

void give(const completions& m, frame_room& into) {
  with_entries(into, message_type::completion, header{}, m.entries);
}

void give(const probes& m, frame_room& into) {
  with_entries(into, message_type::probe, header{}, m.entries);
}

void give(const statuses& m, frame_room& into) {
  with_entries(into, message_type::status, header{}, m.entries);
}

void give(const outcomes& m, frame_room& into) {
  with_entries(into, message_type::outcome, header{}, m.entries);
}

void give(const refusal& m, frame_room& into) {
  error_fixed fixed{};
  fixed.cookie = m.cookie;
  fixed.code = m.code;
  fixed.request_type = m.request_type;
  fixed.fatal = m.fatal ? 1 : 0;
  with_text(into, message_type::error, fixed, clean_text(m.text, error_text_bytes_max));
}

void give(const bye& m, frame_room& into) {
  bye_fixed fixed{};
  fixed.code = m.code;
  start(into, message_type::bye, fixed);
}

void give(const ask& m, frame_room& into) {
  ask_fixed fixed{};
  fixed.cookie = m.cookie;
  with_text(into, message_type::ask, fixed, m.json);
}

void give(const answer& m, frame_room& into) {
  answer_fixed fixed{};
  fixed.cookie = m.cookie;
  fixed.offset_bytes = m.offset_bytes;
  fixed.total_bytes = m.total_bytes;
  with_text(into, message_type::answer, fixed, m.part);
}

void give(const kick&, frame_room& into) {
  start(into, message_type::kick, header{});
}

}  // namespace

std::span<const std::byte> encode(const message& m, frame_room& into) {
  std::visit([&into](const auto& value) { give(value, into); }, m);
  return into.frame();
}

std::vector<std::byte> encode(const message& m) {
  frame_room room;
  const std::span<const std::byte> frame = encode(m, room);
  return {frame.begin(), frame.end()};
}

}  // namespace gar::proto
