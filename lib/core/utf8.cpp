#include "lib/core/utf8.hpp"

#include <cstdint>

namespace gar {
namespace {

uint8_t byte_at(std::string_view text, size_t index) {
  return static_cast<uint8_t>(text[index]);
}

// Bytes of the well-formed character at the front, 0 where there is none.
size_t character_bytes(std::string_view text) {
  const uint8_t lead = byte_at(text, 0);
  if (lead < 0x80) return 1;
  size_t bytes = 0;
  // The second byte's range keeps out overlong forms, surrogates and what is above U+10FFFF.
  uint8_t second_min = 0x80;
  uint8_t second_max = 0xbf;
  if (lead >= 0xc2 && lead <= 0xdf) {
    bytes = 2;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    bytes = 3;
    if (lead == 0xe0) second_min = 0xa0;
    if (lead == 0xed) second_max = 0x9f;
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    bytes = 4;
    if (lead == 0xf0) second_min = 0x90;
    if (lead == 0xf4) second_max = 0x8f;
  }
  if (bytes == 0 || text.size() < bytes) return 0;
  if (byte_at(text, 1) < second_min || byte_at(text, 1) > second_max) return 0;
  for (size_t i = 2; i < bytes; ++i) {
    if ((byte_at(text, i) & 0xc0) != 0x80) return 0;
  }
  return bytes;
}

// Of a well-formed character.
bool is_control(std::string_view character) {
  const uint8_t lead = byte_at(character, 0);
  if (lead < 0x20 || lead == 0x7f) return true;
  return lead == 0xc2 && byte_at(character, 1) < 0xa0;
}

}  // namespace

character first_character(std::string_view text) {
  const size_t bytes = character_bytes(text);
  if (bytes == 0) return {};
  char32_t point = bytes == 1 ? byte_at(text, 0) : byte_at(text, 0) & (0x7f >> bytes);
  for (size_t i = 1; i < bytes; ++i) point = point << 6 | (byte_at(text, i) & 0x3f);
  return {point, bytes, true};
}

bool valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t bytes = character_bytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

bool valid_plain_text(std::string_view text) {
  while (!text.empty()) {
    const size_t bytes = character_bytes(text);
    if (bytes == 0 || is_control(text)) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string_view utf8_prefix(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  size_t end = bytes_max;
  while (end > 0 && (byte_at(text, end) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

std::string clean_text(std::string_view bytes, size_t bytes_max) {
  std::string clean;
  while (!bytes.empty()) {
    const size_t whole = character_bytes(bytes);
    const bool shown = whole != 0 && !is_control(bytes);
    const size_t taken = whole == 0 ? 1 : whole;
    const std::string_view piece = shown ? bytes.substr(0, whole) : std::string_view("?");
    if (clean.size() + piece.size() > bytes_max) break;
    clean += piece;
    bytes.remove_prefix(taken);
  }
  return clean;
}

}  // namespace gar
