// A directory of a test's own, gone with the object.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace gar {

class temporary_directory {
 public:
  temporary_directory() {
    path_ = (std::filesystem::temp_directory_path() / "gar-test-XXXXXX").string();
    if (!::mkdtemp(path_.data())) std::abort();
  }
  ~temporary_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace gar
