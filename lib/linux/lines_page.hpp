// A client's page of completion lines, as each side holds it.
//
// gard makes the page and maps it read-only: it never has a reason to write there. The client maps
// it writable, since its device and its own stores write the words.
//
//   word index  0..7 -> line 0, 8..15 -> line 1, ...      (page bytes / 8 words in all)
//
// Invariants: sealed before its descriptor can be asked for; whole system pages, shared with nobody
// but these two. Threads: words are read and written through proto::load_word and store_word by
// anybody; the object itself is a value. Ownership: descriptor and mapping go with the object; let
// it live until no device store is pending.
// Errors: those of memory_file.hpp.
#pragma once

#include <cstddef>

#include "lib/linux/memory_file.hpp"
#include "proto/line.hpp"

namespace gar {

class lines_page {
 public:
  // gard's side.
  static result<lines_page> make(size_t system_pages = 1);
  // The client's side: takes the descriptor that the welcome carried.
  static result<lines_page> receive(unique_fd fd, size_t bytes);

  int fd() const { return fd_.get(); }
  size_t bytes() const { return map_.bytes(); }
  size_t words() const { return bytes() / sizeof(uint64_t); }
  size_t lines() const { return bytes() / proto::line_bytes; }

  // The start of the page, for registering it with a device.
  void* data() const { return map_.data(); }
  const proto::completion_line& line(size_t index) const {
    GAR_ASSERT(index < lines());
    return static_cast<const proto::completion_line*>(map_.data())[index];
  }
  const uint64_t& word(size_t index) const {
    return line(index / proto::words_per_line).word[index % proto::words_per_line];
  }
  // The client's alone: gard's mapping is read-only.
  uint64_t& writable_word(size_t index) {
    GAR_ASSERT(access_ == map_access::read_write);
    return const_cast<uint64_t&>(word(index));
  }

 private:
  lines_page(unique_fd fd, mapping map, map_access access)
      : fd_(std::move(fd)), map_(std::move(map)), access_(access) {}
  unique_fd fd_;
  mapping map_;
  map_access access_;
};

}  // namespace gar
