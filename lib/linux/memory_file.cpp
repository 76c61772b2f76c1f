#include "lib/linux/memory_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "lib/linux/system_call.hpp"
#include "proto/limits.hpp"

namespace gar {
namespace {

constexpr unsigned int memfd_noexec_seal = 0x0008;  // MFD_NOEXEC_SEAL, since Linux 6.3

int seals_of(sealing how) {
  const int fixed_size = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  return how == sealing::maker_writes ? fixed_size | F_SEAL_FUTURE_WRITE : fixed_size;
}

error not_as_promised(const std::string& what, const std::string& why) {
  return error(errc::MalformedMessage, {"the descriptor of " + what + " " + why});
}

}  // namespace

size_t system_page_bytes() {
  static const size_t bytes =
      std::max(static_cast<size_t>(::sysconf(_SC_PAGESIZE)), proto::page_bytes_min);
  return bytes;
}

mapping& mapping::operator=(mapping&& other) noexcept {
  if (this != &other) {
    mapping old(std::exchange(at_, std::exchange(other.at_, nullptr)),
                std::exchange(bytes_, std::exchange(other.bytes_, 0)));
  }
  return *this;
}

mapping::~mapping() {
  if (at_) ::munmap(at_, bytes_);
}

result<mapping> mapping::of(int fd, size_t bytes, map_access access) {
  const int protection = access == map_access::read_write ? PROT_READ | PROT_WRITE : PROT_READ;
  void* at = ::mmap(nullptr, bytes, protection, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return last_system_error("mmap");
  return mapping(at, bytes);
}

result<unique_fd> make_memory_file(const std::string& name, size_t bytes) {
  const unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  unique_fd fd(::memfd_create(name.c_str(), flags | memfd_noexec_seal));
  // A kernel that does not know the last flag refuses the whole call.
  if (!fd && errno == EINVAL) fd.reset(::memfd_create(name.c_str(), flags));
  if (!fd) return last_system_error("memfd_create");
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return last_system_error("ftruncate");
  return fd;
}

result<void> seal(int memory_fd, sealing how) {
  const int wanted = seals_of(how);
  if (::fcntl(memory_fd, F_ADD_SEALS, wanted) != 0) return last_system_error("fcntl(F_ADD_SEALS)");
  const int seals = ::fcntl(memory_fd, F_GET_SEALS);
  if (seals < 0) return last_system_error("fcntl(F_GET_SEALS)");
  if ((seals & wanted) != wanted) return system_error("fcntl(F_ADD_SEALS)", EPERM);
  return {};
}

result<void> check_memory_file(int fd, size_t bytes, sealing how, const std::string& what) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0) return not_as_promised(what, "is no memory file");
  const int wanted = seals_of(how);
  if ((seals & wanted) != wanted) return not_as_promised(what, "is not sealed");
  struct stat status {};
  if (::fstat(fd, &status) != 0) return last_system_error("fstat");
  if (static_cast<size_t>(status.st_size) != bytes) {
    return not_as_promised(
        what, "has " + std::to_string(status.st_size) + " bytes and not " + std::to_string(bytes));
  }
  return {};
}

}  // namespace gar
