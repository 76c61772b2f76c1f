#include "tests/clients/scarce_memory.hpp"

#include <cstdlib>
#include <new>

void* operator new(size_t bytes) {
  void* const memory = gar::test::memory.refuses() ? nullptr : std::malloc(bytes ? bytes : 1);
  if (!memory) throw std::bad_alloc();
  return memory;
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return gar::test::memory.refuses() ? nullptr : std::malloc(bytes ? bytes : 1);
}
void* operator new[](size_t bytes) {
  return operator new(bytes);
}
void* operator new[](size_t bytes, const std::nothrow_t& answer) noexcept {
  return operator new(bytes, answer);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, size_t) noexcept {
  std::free(memory);
}
