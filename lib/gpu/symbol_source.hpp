// Where the functions of a driver are looked up: a library, or a test's own table.
//
// Code that uses a driver sees one struct of function pointers and cannot tell who filled it.
//
// Threads: a value. Ownership: what `where` points at outlives the functions found there.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "lib/core/error.hpp"
#include "lib/gpu/dynamic_library.hpp"

namespace gar {

struct symbol_source {
  std::string name;  // what a missing symbol is missing from
  void* (*find)(const void* where, const char* symbol_name);
  const void* where;

  static symbol_source of(const dynamic_library& library) {
    return {library.name(),
            [](const void* where, const char* symbol_name) {
              return static_cast<const dynamic_library*>(where)->symbol<void*>(symbol_name);
            },
            &library};
  }
};

// The library that the process has loaded already, so that both of us mean the same; else the first
// that can be loaded. It is kept for the life of what is returned.
inline result<std::shared_ptr<const dynamic_library>> loaded_or_load(
    std::span<const char* const> names) {
  result<dynamic_library> loaded = dynamic_library::open(names, library_use::if_loaded);
  if (loaded) return std::make_shared<const dynamic_library>(std::move(*loaded));
  result<dynamic_library> library = dynamic_library::open(names, library_use::load);
  if (!library) return library.error();
  return std::make_shared<const dynamic_library>(std::move(*library));
}

}  // namespace gar
