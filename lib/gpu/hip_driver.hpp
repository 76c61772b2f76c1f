// The HIP runtime's entry points in one struct, or the very reason why there is no such runtime.
//
// As cuda_driver.hpp is for CUDA: libamdhip64.so.7, .6 or .5, the one that the program has loaded
// already before any other; or a test's own table.
//
//   absent -> resolved (every function found) -> started (hipInit, a device, new enough) -> used
//
// Threads: values; `process` by any. Blocking: while the library loads and starts.
// Ownership: the library stays loaded as long as the struct that was filled from it.
// Errors: Unavailable: the library or the symbol that is missing, no device, a runtime that is too
// old; nothing else of the process is affected.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>

#include "lib/core/error.hpp"
#include "lib/gpu/hip_abi.hpp"
#include "lib/gpu/symbol_source.hpp"

namespace gar {

inline constexpr std::array<const char*, 3> hip_libraries{"libamdhip64.so.7", "libamdhip64.so.6",
                                                          "libamdhip64.so.5"};
inline constexpr int hip_version_min = 50200000;  // HIP 5.2, the oldest that was looked at

struct hip_driver {
#define GAR_HIP_MEMBER(member, ...) hip::functions::member* member = nullptr;
  GAR_HIP_CALLS(GAR_HIP_MEMBER)
  GAR_HIP_OPTIONAL_CALLS(GAR_HIP_MEMBER)  // at least one is there
  GAR_HIP_WORK_CALLS(GAR_HIP_MEMBER)      // null where it lacks them
#undef GAR_HIP_MEMBER

  int version = 0;       // 60200000 is HIP 6.2
  int device_count = 0;  // at least 1

  // Resolved and new enough; nothing is started, the count of devices stays 0.
  static result<hip_driver> resolve(const symbol_source& source);
  // Resolved and started.
  static result<hip_driver> from(const symbol_source& source);
  static result<hip_driver> open(std::span<const char* const> libraries);

  // The process's own, made at the first call that succeeds. Stays for the life of the process.
  static result<const hip_driver*> process();

  // "hipErrorIllegalAddress: an illegal memory access was encountered"
  std::string text_of(hip::status status) const;

 private:
  std::shared_ptr<const dynamic_library> library_;
};

}  // namespace gar
