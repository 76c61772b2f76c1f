#include "lib/gpu/dynamic_library.hpp"

#include <dlfcn.h>

#include <cstring>
#include <utility>

#include "lib/gpu/loaded_libraries.hpp"

namespace gar {
namespace {

// A path is looked up without the loader's map of the file system.
bool may_be_loaded(const char* name) {
  return std::strchr(name, '/') || is_loaded(name);
}

}  // namespace

result<dynamic_library> dynamic_library::open(std::span<const char* const> names, library_use use) {
  const bool load = use == library_use::load;
  std::string why;
  for (const char* name : names) {
    const int mode = RTLD_NOW | RTLD_LOCAL | (load ? 0 : RTLD_NOLOAD);
    const bool worth_it = load || may_be_loaded(name);
    if (void* handle = worth_it ? dlopen(name, mode) : nullptr) {
      return dynamic_library(handle, name, load);
    }
    const char* said = worth_it ? dlerror() : nullptr;
    if (!why.empty()) why += "; ";
    why += said ? said : std::string(name) + " is not loaded in this process";
  }
  return error(errc::Unavailable, {names.empty() ? "library" : names.front(), why});
}

dynamic_library::dynamic_library(dynamic_library&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)),
      name_(std::move(other.name_)),
      stays_(other.stays_) {}

dynamic_library::~dynamic_library() {
  if (handle_ && !stays_) dlclose(handle_);
}

void* dynamic_library::address(const char* symbol_name) const {
  return dlsym(handle_, symbol_name);
}

}  // namespace gar
