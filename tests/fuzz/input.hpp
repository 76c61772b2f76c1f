// Input: the fuzzer's bytes read from front to back, as numbers, choices and pieces of text.
//
// Whatever is asked is answered: behind the end all is 0 and empty, so that every input is a script
// of some kind, and one cut anywhere is too.
//
// Threads: values. Ownership: the bytes outlive it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace gar::fuzz {

class input {
 public:
  input(const uint8_t* data, size_t bytes) : left_(data, bytes) {}

  bool empty() const { return left_.empty(); }
  size_t bytes_left() const { return left_.size(); }

  // Little-endian, like the protocol.
  template <class Integer>
  Integer number() {
    Integer value{};
    const std::span<const std::byte> from = bytes(sizeof(value));
    if (!from.empty()) std::memcpy(&value, from.data(), from.size());
    return value;
  }
  uint8_t byte() { return number<uint8_t>(); }
  // 0 .. count-1; count is at most 256.
  size_t choice(size_t count) { return byte() % count; }
  bool flip() { return (byte() & 1) != 0; }

  // Small numbers for a byte, and any number for nine.
  uint64_t value() {
    const uint8_t first = byte();
    return first < 0xf0 ? first : number<uint64_t>();
  }

  std::span<const std::byte> bytes(size_t bytes_max) {
    const size_t taken = std::min(bytes_max, left_.size());
    const auto part = std::as_bytes(left_.first(taken));
    left_ = left_.subspan(taken);
    return part;
  }
  // A length and so many bytes.
  std::span<const std::byte> piece(size_t bytes_max) {
    return bytes(std::min<size_t>(number<uint16_t>(), bytes_max));
  }
  std::string_view text(size_t bytes_max) { return as_text(piece(bytes_max)); }
  std::string_view rest_as_text() { return as_text(bytes(left_.size())); }

 private:
  static std::string_view as_text(std::span<const std::byte> from) {
    return {reinterpret_cast<const char*>(from.data()), from.size()};
  }
  std::span<const uint8_t> left_;
};

}  // namespace gar::fuzz
