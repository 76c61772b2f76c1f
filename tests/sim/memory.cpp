#include "tests/sim/memory.hpp"

#include <cstdint>
#include <cstdlib>
#include <new>

namespace gar::sim {

memory_owner* memory_owner_now = nullptr;

struct alignas(16) memory_block {
  memory_block* before;
  memory_block* after;
  memory_owner* owner;
  void* raw;
  size_t bytes;
};

void memory_owner::free_all() {
  while (first) {
    memory_block* gone = first;
    first = gone->after;
    std::free(gone->raw);
  }
  bytes = blocks = 0;
}

namespace {

void* take(size_t bytes, size_t alignment) {
  void* raw = std::malloc(bytes + sizeof(memory_block) + (alignment > 16 ? alignment : 0));
  if (!raw) throw std::bad_alloc();
  auto at = reinterpret_cast<uintptr_t>(raw) + sizeof(memory_block);
  if (alignment > 16) at = (at + alignment - 1) & ~(alignment - 1);
  auto* block = reinterpret_cast<memory_block*>(at) - 1;
  *block = {nullptr, nullptr, memory_owner_now, raw, bytes};
  if (memory_owner* owner = memory_owner_now) {
    block->after = owner->first;
    if (owner->first) owner->first->before = block;
    owner->first = block;
    owner->bytes += bytes;
    ++owner->blocks;
  }
  return reinterpret_cast<void*>(at);
}

void give_back(void* at) {
  if (!at) return;
  auto* block = static_cast<memory_block*>(at) - 1;
  if (memory_owner* owner = block->owner) {
    if (block->after) block->after->before = block->before;
    (block->before ? block->before->after : owner->first) = block->after;
    owner->bytes -= block->bytes;
    --owner->blocks;
  }
  std::free(block->raw);
}

}  // namespace
}  // namespace gar::sim

void* operator new(size_t bytes) {
  return gar::sim::take(bytes, 16);
}
void* operator new[](size_t bytes) {
  return gar::sim::take(bytes, 16);
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  return gar::sim::take(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return gar::sim::take(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* at) noexcept {
  gar::sim::give_back(at);
}
void operator delete[](void* at) noexcept {
  gar::sim::give_back(at);
}
void operator delete(void* at, size_t) noexcept {
  gar::sim::give_back(at);
}
void operator delete[](void* at, size_t) noexcept {
  gar::sim::give_back(at);
}
void operator delete(void* at, std::align_val_t) noexcept {
  gar::sim::give_back(at);
}
void operator delete[](void* at, std::align_val_t) noexcept {
  gar::sim::give_back(at);
}
void operator delete(void* at, size_t, std::align_val_t) noexcept {
  gar::sim::give_back(at);
}
void operator delete[](void* at, size_t, std::align_val_t) noexcept {
  gar::sim::give_back(at);
}
