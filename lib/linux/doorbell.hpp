// The doorbell: the one page that everybody on the machine may store to.
//
// A hardware monitor watches one line. So whoever completes a word, or hands gard a request, also
// stores to the doorbell's line, and one park watches the whole machine. The page is trusted for
// nothing: a forged ring costs a wake.
//
// Invariants: sealed, and its canary written, before its descriptor can be asked for.
// Memory order: `ring` is a release store, pairs with the acquire reads of the reactor's copy.
// Threads: ring, copy and canary_intact by any. Blocking, allocation: no.
// Errors: those of memory_file.hpp.
#pragma once

#include <array>
#include <atomic>

#include "lib/linux/memory_file.hpp"
#include "proto/pages.hpp"

namespace gar {

// What the eight words said at one moment (each word by itself).
using bell_copy = std::array<uint64_t, proto::words_per_line>;

inline bell_copy copy_bell(const proto::completion_line& line) {
  bell_copy copy;
  for (size_t i = 0; i < copy.size(); ++i) copy[i] = proto::load_word(line.word[i]);
  return copy;
}

inline bool bell_is_as(const proto::completion_line& line, const bell_copy& copy) {
  for (size_t i = 0; i < copy.size(); ++i) {
    if (proto::load_word(line.word[i]) != copy[i]) return false;
  }
  return true;
}

class doorbell {
 public:
  // gard's side.
  static result<doorbell> make();
  // The client's side: takes the descriptor that the welcome carried.
  static result<doorbell> receive(unique_fd fd, size_t bytes);

  int fd() const { return fd_.get(); }
  size_t bytes() const { return map_.bytes(); }
  const proto::completion_line& line() const { return page().bell; }
  // The start of the page, for registering it with a device.
  void* data() const { return map_.data(); }
  // Where a device rings for this client.
  uint64_t& word_of(uint64_t client_id) const {
    return page().bell.word[proto::bell_index(client_id)];
  }

  // Plain store; a lost race between two ringers costs nothing, since the word still changes.
  void ring(uint64_t client_id, uint32_t stream_index, uint64_t sequence) const {
    proto::store_word(word_of(client_id), proto::bell_value(client_id, stream_index, sequence));
  }

  // request_flags_max bytes; see proto/pages.hpp.
  uint8_t* request_flags() const { return page().request_flags; }
  // A client has something in its ring. Before it rings the bell.
  void ask(uint32_t request_flag) const {
    std::atomic_ref<uint8_t>(page().request_flags[request_flag])
        .store(1, std::memory_order_release);
  }

  // false: somebody punched a hole under the page; devices that pinned it before ring into memory
  // that nobody sees, while the file's new page serves whoever maps and pins it from then on.
  bool canary_intact() const { return proto::load_word(page().canary) == proto::doorbell_canary; }
  // For those who map the page from here on.
  void restore_canary() const { proto::store_word(page().canary, proto::doorbell_canary); }

 private:
  doorbell(unique_fd fd, mapping map) : fd_(std::move(fd)), map_(std::move(map)) {}
  proto::doorbell_page& page() const { return *static_cast<proto::doorbell_page*>(map_.data()); }
  unique_fd fd_;
  mapping map_;
};

}  // namespace gar
