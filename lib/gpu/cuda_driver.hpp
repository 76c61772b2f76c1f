// The CUDA driver's entry points in one struct, or the very reason why there is no such driver.
//
// Nothing links libcuda: its functions are looked up by name, in the library that the program has
// loaded already, else in libcuda.so.1. A test fills the same struct from a table of its own.
//
//   absent -> resolved (every function found) -> started (cuInit, a device, new enough) -> used
//
// Threads: values; `process` by any. Blocking: while the library loads and starts.
// Ownership: the library stays loaded as long as the struct that was filled from it.
// Errors: Unavailable: the library or the symbol that is missing, the stub library (status 34), no
// device, a driver that is too old; nothing else of the process is affected.
// Does not: make or touch a context.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>

#include "lib/core/error.hpp"
#include "lib/gpu/cuda_abi.hpp"
#include "lib/gpu/symbol_source.hpp"

namespace gar {

inline constexpr std::array<const char*, 1> cuda_libraries{"libcuda.so.1"};
inline constexpr int cuda_version_min = 11070;  // the stream memory operations in their last form

struct cuda_driver {
#define GAR_CUDA_MEMBER(member, ...) cuda::functions::member* member = nullptr;
  GAR_CUDA_CALLS(GAR_CUDA_MEMBER)
  GAR_CUDA_OPTIONAL_CALLS(GAR_CUDA_MEMBER)  // null where the driver lacks them
  GAR_CUDA_WORK_CALLS(GAR_CUDA_MEMBER)      // null where it lacks them
#undef GAR_CUDA_MEMBER

  int version = 0;       // 12040 is CUDA 12.4
  int device_count = 0;  // at least 1

  // Resolved and new enough; nothing is started, the count of devices stays 0.
  static result<cuda_driver> resolve(const symbol_source& source);
  // Resolved and started.
  static result<cuda_driver> from(const symbol_source& source);
  static result<cuda_driver> open(std::span<const char* const> libraries);

  // The process's own, made at the first call that succeeds. Stays for the life of the process.
  static result<const cuda_driver*> process();

  // "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"
  std::string text_of(cuda::status status) const;

 private:
  std::shared_ptr<const dynamic_library> library_;
};

}  // namespace gar
