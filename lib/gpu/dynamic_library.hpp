// A vendor's library, looked for at run time: nothing of ours links one.
//
// A driver may be missing on the machine, so its library is opened by name when it is needed, and a
// machine without it still runs everything else.
//
// Threads: values; opening may run a library's initialisers and takes the dynamic linker's lock.
// Ownership: a library that `open` brought into the process stays for the process's life, because a
// driver's threads do not survive being unloaded; one that was there already is only referenced.
// Errors: Unavailable with the linker's own words, or the symbol that is missing.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "lib/core/error.hpp"

namespace gar {

enum class library_use : uint8_t {
  load,       // bring it in where it is not loaded yet
  if_loaded,  // only what the process itself has loaded already; runs nobody's code
};

class dynamic_library {
 public:
  // The first of `names` that can be opened.
  static result<dynamic_library> open(std::span<const char* const> names, library_use use);

  dynamic_library(dynamic_library&& other) noexcept;
  dynamic_library& operator=(dynamic_library&&) = delete;
  ~dynamic_library();

  const std::string& name() const { return name_; }

  // The address of a symbol as a pointer to function; null where it is not exported.
  template <class Function>
  Function symbol(const char* symbol_name) const {
    return reinterpret_cast<Function>(address(symbol_name));
  }

 private:
  dynamic_library(void* handle, std::string name, bool stays)
      : handle_(handle), name_(std::move(name)), stays_(stays) {}
  void* address(const char* symbol_name) const;

  void* handle_;
  std::string name_;
  bool stays_;
};

}  // namespace gar
