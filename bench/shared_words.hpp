// A client's words and doorbell, as another process of ours sees them: opened again by way of
// /proc, since the library keeps its descriptors to itself.
//
// Threads: one. Ownership: the mappings go with the object. Errors: cannot_measure.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace gar::bench {

// Where an address of this process lies in a shared file that it has open.
struct file_place {
  int fd = -1;
  size_t offset_bytes = 0;
  size_t file_bytes = 0;
};
file_place place_of(const void* address);

// The same memory of another process, mapped here for good.
void* map_place(pid_t of, const file_place& place);

}  // namespace gar::bench
