// Frame pool: memory for coroutine frames, so that starting a wait allocates nothing.
//
// Each frame that a host frees stays with the host, in its size class, and is handed to
// the next wait. A frame knows the pool it came from; one made without a pool comes from the heap.
//
// Invariants: a frame is freed on the thread of its pool's host, before the pool is.
// Threads: one. Blocking: no. Allocation: only while the pool grows.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>

namespace gar {

class frame_pool {
 public:
  frame_pool() = default;
  frame_pool(const frame_pool&) = delete;
  frame_pool& operator=(const frame_pool&) = delete;
  ~frame_pool() {
    for (header*& head : free_) {
      while (head) {
        header* next = head->next;
        ::operator delete(head);
        head = next;
      }
    }
  }

  // `pool` may be null: the frame is then from the heap.
  static void* allocate(frame_pool* pool, size_t bytes) {
    const size_t size_class = class_of(bytes);
    if (!pool || size_class == class_count) return make(nullptr, size_class, bytes);
    header*& head = pool->free_[size_class];
    if (!head) {
      ++pool->frames_made_;
      return make(pool, size_class, class_bytes(size_class));
    }
    header* taken = head;
    head = taken->next;
    taken->next = nullptr;
    return taken + 1;
  }

  static void release(void* frame) {
    header* h = static_cast<header*>(frame) - 1;
    if (!h->pool) {
      ::operator delete(h);
      return;
    }
    h->next = h->pool->free_[h->size_class];
    h->pool->free_[h->size_class] = h;
  }

  // Frames ever made; flat in a steady state.
  uint64_t frames_made() const { return frames_made_; }

 private:
  struct alignas(__STDCPP_DEFAULT_NEW_ALIGNMENT__) header {
    frame_pool* pool;
    header* next;
    size_t size_class;
  };
  static constexpr size_t class_step_bytes = 64;
  static constexpr size_t class_count = 128;  // 64, 128, ... 8192 bytes
  static constexpr size_t class_bytes(size_t size_class) {
    return (size_class + 1) * class_step_bytes;
  }
  static constexpr size_t class_of(size_t bytes) {
    return std::min(class_count, (bytes - 1) / class_step_bytes);
  }
  static void* make(frame_pool* pool, size_t size_class, size_t bytes) {
    void* memory = ::operator new(sizeof(header) + bytes);
    return new (memory) header{pool, nullptr, size_class} + 1;
  }

  std::array<header*, class_count> free_{};
  uint64_t frames_made_ = 0;
};

// Something whose coroutines take their frames from a pool: a host, or what holds one.
template <class P>
concept has_frames = requires(P& p) {
  { p.frames() } -> std::same_as<frame_pool&>;
};

}  // namespace gar
