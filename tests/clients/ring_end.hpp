// gard's end of a ring, for a test's gard: does what it is told to, right or wrong.
//
// Threads: one at a time.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "lib/core/error.hpp"
#include "lib/linux/futex.hpp"
#include "lib/linux/memory_file.hpp"
#include "proto/ring.hpp"

namespace gar::test {

class ring_end {
 public:
  explicit ring_end(uint32_t entries) : entries_(entries) {
    const size_t bytes = proto::ring_bytes(entries);
    memory_ = *make_memory_file("test-ring", bytes);
    GAR_ASSERT(seal(memory_.get(), sealing::fixed_size));
    map_ = *mapping::of(memory_.get(), bytes, map_access::read_write);
    int ends[2];
    GAR_ASSERT(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    pipe_read_ = unique_fd(ends[0]);
    pipe_write_ = unique_fd(ends[1]);
  }

  int memory() const { return memory_.get(); }
  int pipe() const { return pipe_read_.get(); }
  uint32_t entries() const { return entries_; }
  proto::ring_header& header() const { return *static_cast<proto::ring_header*>(map_.data()); }
  proto::ring_slot& slot(size_t i) const {
    return at<proto::ring_slot>(proto::ring_slots_offset(entries_))[i];
  }

  struct request {
    uint32_t slot;
    uint16_t op;
    proto::ring_request asked;
    std::string name;
  };
  std::optional<request> take() {
    if (load(header().submit_tail) == submit_head_) return std::nullopt;
    const uint32_t word =
        load(at<uint32_t>(proto::ring_submit_offset)[submit_head_++ & (entries_ - 1)]);
    proto::submission said;
    std::memcpy(&said, &word, sizeof(said));
    request r{said.slot, said.op, slot(said.slot).request, {}};
    if (said.op == proto::submit_point) r.name = slot(said.slot).point_name;
    store(header().submit_head, submit_head_);
    return r;
  }
  std::vector<proto::outcome_entry> take_outcomes() {
    std::vector<proto::outcome_entry> taken;
    while (load(header().outcome_tail) != outcome_head_) {
      taken.push_back(at<proto::ring_outcome>(
                          proto::ring_outcomes_offset)[outcome_head_++ % proto::ring_outcomes]
                          .entry);
    }
    store(header().outcome_head, outcome_head_);
    return taken;
  }

  void complete(uint32_t slot_index, const proto::ring_completion& end) {
    if (slot_index < entries_) slot(slot_index).completion = end;
    store(at<uint32_t>(proto::ring_complete_offset(entries_))[tail_++ & (entries_ - 1)],
          slot_index);
    publish(tail_);
  }
  void publish(uint64_t tail) {
    store(header().complete_tail, tail);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (load(header().wants) == 0) return;
    const uint32_t wants = std::atomic_ref<uint32_t>(header().wants).exchange(0);
    if (wants & proto::wants_futex) {
      std::atomic_ref<uint32_t>(header().signal).fetch_add(1);
      futex_wake(header().signal);
    }
    if (wants & proto::wants_pipe) {
      [[maybe_unused]] const ssize_t put = ::write(pipe_write_.get(), "", 1);
    }
  }

 private:
  template <class T>
  T* at(size_t offset) const {
    return reinterpret_cast<T*>(static_cast<std::byte*>(map_.data()) + offset);
  }
  template <class T>
  static T load(T& shared) {
    return std::atomic_ref<T>(shared).load(std::memory_order_acquire);
  }
  template <class T>
  static void store(T& shared, std::type_identity_t<T> value) {
    std::atomic_ref<T>(shared).store(value, std::memory_order_release);
  }

  uint32_t entries_;
  unique_fd memory_;
  unique_fd pipe_read_;
  unique_fd pipe_write_;
  mapping map_;
  uint64_t submit_head_ = 0;
  uint64_t outcome_head_ = 0;
  uint64_t tail_ = 0;
};

}  // namespace gar::test
