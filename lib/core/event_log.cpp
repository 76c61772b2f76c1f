#include "lib/core/event_log.hpp"

#include <algorithm>
#include <utility>

namespace gar {

std::string_view name_of(event_kind kind) {
  constexpr std::array<std::string_view, event_kinds> names{
      "client_connected", "client_left", "client_refused", "stream_opened",   "stream_closed",
      "request_refused",  "wait_failed", "wait_timed_out", "early_word",      "lost_store",
      "plan_changed",     "warning",     "latency_held",   "latency_released"};
  return names[static_cast<size_t>(kind)];
}

void event_log::add(node_event e) {
  e.number = ++last_;
  e.at = clock_ ? clock_() : instant{};
  ++counts_[static_cast<size_t>(e.what)];
  ring& to = ring_of(e.uid);
  ++to.added;
  to.kept.push_back(std::move(e));
  if (to.kept.size() > kept_max) to.kept.pop_front();
}

event_log::ring& event_log::ring_of(std::optional<uint32_t> uid) {
  const auto found = rings_.find(uid);
  if (found != rings_.end()) return found->second;
  if (rings_.size() == users_max) {
    rings_.erase(std::min_element(rings_.begin(), rings_.end(), [](const auto& a, const auto& b) {
      return a.second.kept.back().number < b.second.kept.back().number;
    }));
  }
  return rings_[uid];
}

event_log::reading event_log::read_after(uint64_t after, std::optional<uint32_t> uid,
                                         size_t most) const {
  if (after > last(uid)) after = 0;
  if (!uid) return read_all(after, most);
  const auto of = rings_.find(uid);
  return of == rings_.end() ? reading{{}, after, 0, false} : read_one(of->second, after, most);
}

uint64_t event_log::last(std::optional<uint32_t> uid) const {
  if (!uid) return last_;
  const auto of = rings_.find(uid);
  return of == rings_.end() ? 0 : of->second.added;
}

event_log::reading event_log::read_all(uint64_t after, size_t most) const {
  struct place {
    std::deque<node_event>::const_iterator at;
    std::deque<node_event>::const_iterator end;
  };
  std::vector<place> places;
  for (const auto& [uid, each] : rings_) {
    const auto from =
        std::upper_bound(each.kept.begin(), each.kept.end(), after,
                         [](uint64_t n, const node_event& e) { return n < e.number; });
    if (from != each.kept.end()) places.push_back({from, each.kept.end()});
  }
  reading r;
  while (!places.empty() && r.events.size() < most) {
    const auto next = std::min_element(
        places.begin(), places.end(), [](auto& a, auto& b) { return a.at->number < b.at->number; });
    r.events.push_back(*next->at);
    if (++next->at == next->end) places.erase(next);
  }
  r.more = !places.empty();
  r.next = r.more ? r.events.back().number : last_;
  r.lost = r.next - after - r.events.size();
  return r;
}

event_log::reading event_log::read_one(const ring& from, uint64_t after, size_t most) const {
  const uint64_t gone = from.added - from.kept.size();
  reading r;
  r.lost = gone > after ? gone - after : 0;
  uint64_t number = std::max(after, gone);
  while (number < from.added && r.events.size() < most) {
    r.events.push_back(from.kept[number - gone]);
    r.events.back().number = ++number;
  }
  r.next = number;
  r.more = number < from.added;
  return r;
}

}  // namespace gar
