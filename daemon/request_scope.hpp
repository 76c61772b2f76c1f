// Request scope: what the one who asks a control request may see and do.
//
// The control socket's callers see and change everything. Whoever asks on the clients' socket reads
// only, and only what belongs to the own uid; root sees everything.
#pragma once

#include <cstdint>
#include <optional>

namespace gar {

struct request_scope {
  bool read_only = false;
  std::optional<uint32_t> uid;  // set: only what this user owns

  static request_scope control() { return {}; }
  static request_scope client(uint32_t uid) {
    return {true, uid == 0 ? std::nullopt : std::optional(uid)};
  }
};

}  // namespace gar
