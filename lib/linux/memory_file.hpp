// Memory that processes share: a file with no name, of a size that nobody can change any more.
//
// A mapping of a file that its other holder can shrink is a trap: the next read is a SIGBUS. So a
// memory file is sealed before its descriptor leaves the process, and a descriptor that came from
// elsewhere is mapped only after its seals were read back.
//
//   made (writable, no seals) -> mapped by the maker -> sealed -> handed out
//
//   sealing::fixed_size   nobody changes the size or the seals. Writers can still punch holes: what
//                         was pinned before is then no longer what others see.
//   sealing::maker_writes as well, nobody but holders of mappings made before sealing can write,
//                         map writable or punch.
//
// Threads: values. Blocking: no. Ownership: descriptor and mapping are separate; a mapping outlives
// the descriptor it was made from.
// Errors: SystemCall; MalformedMessage for a received descriptor that is not what was promised.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "lib/core/error.hpp"
#include "lib/linux/unique_fd.hpp"

namespace gar {

// What one page of this system is, at least proto::page_bytes_min.
size_t system_page_bytes();

enum class sealing : uint8_t { fixed_size, maker_writes };
enum class map_access : uint8_t { read_only, read_write };

// A shared mapping of a whole memory file.
class mapping {
 public:
  mapping() = default;
  mapping(mapping&& other) noexcept
      : at_(std::exchange(other.at_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  mapping& operator=(mapping&& other) noexcept;
  ~mapping();

  static result<mapping> of(int fd, size_t bytes, map_access access);

  // Null where nothing is mapped. Writing through a read-only mapping is a SIGSEGV.
  void* data() const { return at_; }
  size_t bytes() const { return bytes_; }
  explicit operator bool() const { return at_ != nullptr; }

 private:
  mapping(void* at, size_t bytes) : at_(at), bytes_(bytes) {}
  void* at_ = nullptr;
  size_t bytes_ = 0;
};

// `name` shows up in /proc/PID/maps and nowhere else. Zeroed, closed on exec, never executable
// where the kernel knows how to promise it.
result<unique_fd> make_memory_file(const std::string& name, size_t bytes);

// Adds the seals and reads them back.
result<void> seal(int memory_fd, sealing how);

// What a receiver must know before it maps: a memory file, sealed at least so, of exactly `bytes`.
// `what` is how the error calls it.
result<void> check_memory_file(int fd, size_t bytes, sealing how, const std::string& what);

}  // namespace gar
