// Lines through a pipe: how the demo's processes talk to each other.
//
// Threads: one reader and one writer. Blocking: both directions, until the line is whole; a signal
// ends a read early. Ownership: the descriptors are the object's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/linux/unique_fd.hpp"

namespace gar {

class line_pipe {
 public:
  line_pipe(unique_fd in, unique_fd out) : in_(std::move(in)), out_(std::move(out)) {}

  // Without its newline. nullopt: the other end is gone, or a signal came.
  std::optional<std::string> read();
  // Is the other end gone? Else a signal came.
  bool at_end() const { return at_end_; }
  // false: the other end is gone.
  bool write(std::string_view line);

 private:
  unique_fd in_;
  unique_fd out_;
  bool at_end_ = false;
  std::string read_;  // and not yet given out
};

}  // namespace gar
