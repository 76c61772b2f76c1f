#include "bench/shared_words.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "bench/measure.hpp"
#include "lib/linux/unique_fd.hpp"

namespace gar::bench {
namespace {

struct mapped_range {
  uint64_t from = 0;
  uint64_t to = 0;
  uint64_t offset = 0;
  uint64_t inode = 0;
};

mapped_range range_of(uint64_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    mapped_range r;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %" SCNu64, &r.from,
                    &r.to, &r.offset, &r.inode) == 4 &&
        address >= r.from && address < r.to) {
      return r;
    }
  }
  throw cannot_measure("a word lies in no mapping");
}

}  // namespace

file_place place_of(const void* address) {
  const auto at = reinterpret_cast<uint64_t>(address);
  const mapped_range range = range_of(at);
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename().string());
    struct stat about {};
    if (::fstat(fd, &about) != 0 || about.st_ino != range.inode) continue;
    if (!S_ISREG(about.st_mode)) continue;
    return {fd, at - range.from + range.offset, static_cast<size_t>(about.st_size)};
  }
  throw cannot_measure("a word's file is not open");
}

void* map_place(pid_t of, const file_place& place) {
  const std::string path = "/proc/" + std::to_string(of) + "/fd/" + std::to_string(place.fd);
  const unique_fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  void* at = fd ? ::mmap(nullptr, place.file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0)
                : MAP_FAILED;
  if (at == MAP_FAILED) throw cannot_measure("a client's memory cannot be opened: " + path);
  return static_cast<char*>(at) + place.offset_bytes;
}

}  // namespace gar::bench
