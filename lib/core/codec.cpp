#include "lib/core/codec.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "lib/core/message_layout.hpp"
#include "lib/core/utf8.hpp"

namespace gar::proto {

sender sender_of(message_type type) {
  return layout_of(type).from;
}

std::string_view name_of(message_type type) {
  return layout_of(type).name;
}

size_t descriptors_of(const message& m) {
  const auto* greeting = std::get_if<welcome>(&m);
  const bool ring = greeting && (greeting->features & feature_ring) != 0;
  return layout_of(type_of(m)).descriptors + (ring ? ring_descriptors : 0);
}

message_type type_of(const message& m) {
  return static_cast<message_type>(m.index() + 1);
}

bool valid_name(std::string_view name) {
  return !name.empty() && name.size() <= name_bytes_max && valid_plain_text(name);
}

void set_call(char (&field)[call_field_bytes], std::string_view call) {
  std::memset(field, 0, sizeof(field));
  const std::string fits = clean_text(call, sizeof(field) - 1);
  std::memcpy(field, fits.data(), fits.size());
}

const char* outcome_fault(const outcome_entry& entry) {
  if (entry.what > outcome_refused) return "what ended is not 0..2";
  if (entry.kind > kind_parked) return "the kind is not 0..3";
  if (entry.sample > sample_late) return "the sample is not none, exact or late";
  if (entry.point > points_per_client_max) return "the point's number is not 0..256";
  for (const uint8_t reserved : entry.reserved) {
    if (reserved != 0) return "a reserved field is not 0";
  }
  return nullptr;
}

std::vector<answer> split_answer(uint64_t cookie, std::string_view json) {
  GAR_ASSERT(!json.empty() && json.size() <= answer_bytes_max);
  std::vector<answer> parts;
  const auto total_bytes = static_cast<uint32_t>(json.size());
  uint32_t offset_bytes = 0;
  while (offset_bytes < total_bytes) {
    const std::string_view part = utf8_prefix(json.substr(offset_bytes), answer_part_bytes_max);
    GAR_ASSERT(!part.empty());
    parts.push_back({cookie, offset_bytes, total_bytes, std::string(part)});
    offset_bytes += static_cast<uint32_t>(part.size());
  }
  return parts;
}

}  // namespace gar::proto
