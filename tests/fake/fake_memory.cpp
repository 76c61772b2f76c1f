#include "tests/fake/fake_memory.hpp"

namespace fake {
namespace {

constexpr uint64_t host_base = uint64_t{1} << 60;    // far from where the host itself sees it
constexpr uint64_t device_base = uint64_t{1} << 61;  // of allocations
constexpr uint64_t allocation_alignment = 4096;

}  // namespace

status memory::add(context* in, void* host, size_t bytes, bool portable) {
  auto* at = static_cast<char*>(host);
  for (auto [first, last] = registrations_.equal_range(at); first != last; ++first) {
    if (first->second->in == in || first->second->portable || portable) return already_registered;
  }
  registrations_.emplace(at, std::make_shared<registration>(registration{in, at, bytes, portable}));
  return success;
}

std::shared_ptr<registration> memory::remove(const context* in, void* host) {
  for (auto [first, last] = registrations_.equal_range(static_cast<char*>(host)); first != last;
       ++first) {
    if (first->second->in != in) continue;
    std::shared_ptr<registration> removed = first->second;
    removed->alive = false;
    registrations_.erase(first);
    return removed;
  }
  return nullptr;
}

void memory::remove_all(const context* in) {
  std::erase_if(registrations_, [in](const auto& one) {
    if (one.second->in != in) return false;
    one.second->alive = false;
    return true;
  });
}

std::shared_ptr<registration> memory::at(const context* in, const void* host) const {
  const auto* at = static_cast<const char*>(host);
  for (const auto& [start, one] : registrations_) {
    const bool here = at >= one->host && at < one->host + one->bytes;
    if (here && (one->in == in || one->portable)) return one;
  }
  return nullptr;
}

uint64_t memory::seen_by_device(const void* host) {
  return reinterpret_cast<uintptr_t>(host) + host_base;
}

uint64_t* memory::host_word(uint64_t address) {
  if (address <= host_base || address >= device_base) return nullptr;
  return reinterpret_cast<uint64_t*>(address - host_base);
}

uint64_t memory::allocate(size_t bytes) {
  const uint64_t last =
      allocated_.empty() ? device_base : allocated_.rbegin()->first + allocated_.rbegin()->second;
  const uint64_t at =
      (last + allocation_alignment - 1) / allocation_alignment * allocation_alignment;
  allocated_.emplace(at, bytes);
  return at;
}

status memory::deallocate(uint64_t address) {
  return allocated_.erase(address) == 1 ? success : invalid_value;
}

}  // namespace fake
