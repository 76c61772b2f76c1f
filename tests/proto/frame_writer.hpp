// Frames written byte by byte, from PROTOCOL.md and not from the code that they test.
//
// A field is appended at the frame's end, with its name, so that the bytes and the manifest's
// `fields` come from one place. The header's `bytes` is filled in at the end unless it was told to
// lie. Threads: values. Units: as the fields' names say.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gar::proto::test {

class frame_writer {
 public:
  frame_writer(uint16_t type, uint16_t count) {
    append(type, 2);
    append(count, 2);
    append(0, 4);
  }

  frame_writer& u8(std::string_view name, uint8_t value) { return integer(name, value, 1); }
  frame_writer& u16(std::string_view name, uint16_t value) { return integer(name, value, 2); }
  frame_writer& u32(std::string_view name, uint32_t value) { return integer(name, value, 4); }
  frame_writer& u64(std::string_view name, uint64_t value) { return integer(name, value, 8); }
  frame_writer& i32(std::string_view name, int32_t value) {
    note(name, std::to_string(value));
    append(static_cast<uint32_t>(value), 4);
    return *this;
  }
  frame_writer& reserved(size_t bytes) {
    bytes_.append(bytes, '\0');
    return *this;
  }
  // A text in a field of `field_bytes`, padded with NULs; cut where it is longer.
  frame_writer& field(std::string_view name, std::string_view text, size_t field_bytes) {
    note(name, quoted(text));
    std::string padded(text);
    padded.resize(field_bytes, '\0');
    bytes_ += padded;
    return *this;
  }
  // The text at the end of a message.
  frame_writer& text(std::string_view name, std::string_view text) {
    note(name, quoted(text));
    bytes_ += text;
    return *this;
  }
  // The fields that follow are those of one more entry.
  frame_writer& entry() {
    fields_ += fields_.empty() || entries_ == 0 ? separator() : "}, ";
    fields_ += entries_++ == 0 ? "\"entries\": [{" : "{";
    first_ = true;
    return *this;
  }

  std::string frame() const {
    std::string whole = bytes_;
    const size_t bytes = whole.size();
    for (size_t i = 0; i < 4; ++i) whole[4 + i] = static_cast<char>(bytes >> (8 * i));
    return whole;
  }
  // The fields as a JSON object.
  std::string fields() const { return "{" + fields_ + (entries_ == 0 ? "}" : "}]}"); }

 private:
  frame_writer& integer(std::string_view name, uint64_t value, size_t bytes) {
    note(name, std::to_string(value));
    append(value, bytes);
    return *this;
  }
  void append(uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) bytes_ += static_cast<char>(value >> (8 * i));
  }
  std::string separator() { return std::exchange(first_, false) ? "" : ", "; }
  void note(std::string_view name, const std::string& json) {
    fields_ += separator();
    fields_ += "\"" + std::string(name) + "\": " + json;
  }
  // The texts of the valid vectors hold no control characters.
  static std::string quoted(std::string_view text) {
    std::string json = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') json += '\\';
      json += c;
    }
    return json + "\"";
  }

  std::string bytes_;
  std::string fields_;
  size_t entries_ = 0;
  bool first_ = true;
};

}  // namespace gar::proto::test
