// make_vectors DIRECTORY: writes the test vectors and their manifest, in place of those there.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/proto/vectors.hpp"

namespace {

bool write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) std::fprintf(stderr, "make_vectors: cannot write %s\n", path.c_str());
  return bool(file);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_vectors DIRECTORY\n");
    return 64;
  }
  const std::filesystem::path directory = argv[1];
  for (const char* part : {"valid", "invalid", "out_of_state"}) {
    std::filesystem::remove_all(directory / part);
  }
  bool written = write_file(directory / "manifest.json", gar::proto::test::vectors_manifest());
  for (const auto& one : gar::proto::test::all_vectors()) {
    written = write_file(directory / one.file, one.bytes) && written;
  }
  return written ? 0 : 1;
}
