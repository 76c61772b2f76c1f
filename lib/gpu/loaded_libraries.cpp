#include "lib/gpu/loaded_libraries.hpp"

#include <link.h>
#include <pthread.h>

#include <cstring>
#include <mutex>

namespace gar {
namespace {

std::mutex walk_lock;

// From when this code is loaded on. Without memory for it forks happen as ever.
[[maybe_unused]] const int fork_waits_for_walks = ::pthread_atfork(
    [] { walk_lock.lock(); }, [] { walk_lock.unlock(); }, [] { walk_lock.unlock(); });

const ElfW(Dyn) * dynamic_section_of(const dl_phdr_info& object) {
  for (size_t i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object.dlpi_phdr[i];
    if (header.p_type != PT_DYNAMIC) continue;
    return reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + header.p_vaddr);
  }
  return nullptr;
}

const char* soname_of(const dl_phdr_info& object) {
  const ElfW(Dyn)* entry = dynamic_section_of(object);
  ElfW(Addr) strings = 0;
  const ElfW(Dyn)* soname = nullptr;
  for (; entry && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) strings = entry->d_un.d_ptr;
    if (entry->d_tag == DT_SONAME) soname = entry;
  }
  if (!strings || !soname) return "";
  // Not every loader relocates it, and none does in the vDSO.
  if (strings < object.dlpi_addr) strings += object.dlpi_addr;
  return reinterpret_cast<const char*>(strings + soname->d_un.d_val);
}

const char* file_name_of(const dl_phdr_info& object) {
  const char* path = object.dlpi_name ? object.dlpi_name : "";
  const char* slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

int is_named(dl_phdr_info* object, size_t, void* name) {
  const char* wanted = static_cast<const char*>(name);
  return std::strcmp(file_name_of(*object), wanted) == 0 ||
         std::strcmp(soname_of(*object), wanted) == 0;
}

}  // namespace

bool is_loaded(const char* name) {
  std::lock_guard lock(walk_lock);
  return ::dl_iterate_phdr(is_named, const_cast<char*>(name)) != 0;
}

}  // namespace gar
