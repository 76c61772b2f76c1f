// The shape of every message as data: who sends it, how large it is, how many entries it carries.
//
// Decoding, encoding and the tests read this one table; proto/wire.hpp has the fields.
// Threads: constants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/core/codec.hpp"

namespace gar::proto {

struct message_layout {
  std::string_view name;
  sender from;
  size_t descriptors;  // without those of a ring
  size_t fixed_bytes;
  size_t entry_bytes;  // 1 where the entries are the bytes of a text, 0 where there are none
  size_t count_min;
  size_t count_max;
};

// Of a welcome, beside its others: the ring, and its pipe's read end.
inline constexpr size_t ring_descriptors = 2;

// In the order of message_type, which starts at 1.
inline constexpr message_layout message_layouts[] = {
    {"hello", sender::client, 0, sizeof(hello_fixed), sizeof(driver_entry), 0, drivers_max},
    {"welcome", sender::server, 3, sizeof(welcome_fixed), 0, 0, 0},
    {"page", sender::server, 1, sizeof(page_fixed), 0, 0, 0},
    {"open", sender::client, 0, sizeof(open_fixed), 0, 0, 0},
    {"opened", sender::server, 0, sizeof(opened_fixed), 0, 0, 0},
    {"close", sender::client, 0, sizeof(close_fixed), 0, 0, 0},
    {"closed", sender::server, 0, sizeof(closed_fixed), 0, 0, 0},
    {"plan", sender::server, 0, sizeof(plan_fixed), 1, 1, plan_bytes_max},
    {"point", sender::client, 0, sizeof(point_fixed), 0, 0, 0},
    {"wait", sender::client, 0, sizeof(header), sizeof(wait_entry), 1, wait_entries_max},
    {"cancel", sender::client, 0, sizeof(cancel_fixed), 0, 0, 0},
    {"completion", sender::server, 0, sizeof(header), sizeof(completion_entry), 1,
     completion_entries_max},
    {"probe", sender::server, 0, sizeof(header), sizeof(probe_entry), 1, probe_entries_max},
    {"status", sender::client, 0, sizeof(header), sizeof(status_entry), 1, status_entries_max},
    {"outcome", sender::client, 0, sizeof(header), sizeof(outcome_entry), 1, outcome_entries_max},
    {"error", sender::server, 0, sizeof(error_fixed), 1, 0, error_text_bytes_max},
    {"bye", sender::both, 0, sizeof(bye_fixed), 0, 0, 0},
    {"ask", sender::client, 0, sizeof(ask_fixed), 1, 1, ask_bytes_max},
    {"answer", sender::server, 0, sizeof(answer_fixed), 1, 1, answer_part_bytes_max},
    {"kick", sender::client, 0, sizeof(header), 0, 0, 0},
};
inline constexpr size_t message_types = sizeof(message_layouts) / sizeof(message_layouts[0]);

static_assert(message_types == static_cast<size_t>(message_type::kick));
static_assert(message_types == std::variant_size_v<message>);

constexpr bool known_type(uint16_t type) {
  return type >= 1 && type <= message_types;
}

// Of a known type.
constexpr const message_layout& layout_of(message_type type) {
  return message_layouts[static_cast<size_t>(type) - 1];
}

constexpr bool every_message_fits_a_frame() {
  for (const message_layout& layout : message_layouts) {
    if (layout.fixed_bytes + layout.entry_bytes * layout.count_max > frame_bytes_max) return false;
  }
  return true;
}
static_assert(every_message_fits_a_frame());

}  // namespace gar::proto
