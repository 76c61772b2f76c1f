// Descriptor reserve: descriptors that gard's clients cannot take from its operators.
//
// A process has a limited number of descriptors, and each client costs some. Where clients have
// taken them all nobody could be let in any more who might end them. So the last numbers below the
// limit are not for clients: the kernel always gives the lowest number that is free, so a
// descriptor with such a number was made when too few were left.
//
//     0 ........................ first_ ............ limit
//     for everybody              operators, files read anew, what lasts a moment
//
// Invariants: a client never keeps a descriptor of the reserve, which is a quarter of all at most.
// Threads: constant once made. Blocking: no. Errors: SystemCall{.., EMFILE}.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "lib/linux/system_call.hpp"

namespace gar {

class descriptor_reserve {
 public:
  // `limit`: how many this process may have; 0: not known, and nothing is kept.
  descriptor_reserve(uint64_t limit, uint64_t wanted)
      : first_(limit == 0 ? UINT64_MAX : limit - std::min(wanted, limit / 4)) {}

  bool holds(int fd) const { return fd >= 0 && static_cast<uint64_t>(fd) >= first_; }
  // A client may keep this one.
  result<void> admit(int fd) const {
    if (!holds(fd)) return {};
    return system_error("a descriptor for a client", EMFILE);
  }

 private:
  uint64_t first_;
};

}  // namespace gar
