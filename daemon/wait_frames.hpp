// What a board's flush becomes on the wire: as few messages as the frame's size allows.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "daemon/session_link.hpp"
#include "lib/core/codec.hpp"

namespace gar {

template <class Message, class Entry>
void send_entries(session_link& to, const std::vector<Entry>& entries, size_t entries_max) {
  for (size_t from = 0; from < entries.size(); from += entries_max) {
    const size_t count = std::min(entries_max, entries.size() - from);
    const auto first = entries.begin() + static_cast<std::ptrdiff_t>(from);
    to.send(proto::encode(Message{{first, first + static_cast<std::ptrdiff_t>(count)}}));
  }
}

inline void send_wait_frames(session_link& to, const std::vector<proto::completion_entry>& ended,
                             const std::vector<proto::probe_entry>& probes) {
  send_entries<proto::completions>(to, ended, proto::completion_entries_max);
  send_entries<proto::probes>(to, probes, proto::probe_entries_max);
}

}  // namespace gar
