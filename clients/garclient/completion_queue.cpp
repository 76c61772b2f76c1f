#include "clients/garclient/completion_queue.hpp"

#include <string>
#include <utility>

namespace gar::owner {

result<uint64_t> completion_queue::reserve() {
  std::lock_guard lock(mutex_);
  if (reserved_ == waits_max) return error(errc::LimitWaits, {std::to_string(waits_max)});
  ++reserved_;
  return ++last_ticket_;
}

bool completion_queue::was_given(uint64_t ticket) const {
  std::lock_guard lock(mutex_);
  return ticket > 0 && ticket <= last_ticket_;
}

void completion_queue::put(const gar_completion& ended) {
  std::lock_guard lock(mutex_);
  if (ended_.empty() && readable_) readable_->raise();
  ended_.push_back(ended);
}

size_t completion_queue::take(std::span<gar_completion> into) {
  std::lock_guard lock(mutex_);
  size_t taken = 0;
  while (taken < into.size() && !ended_.empty()) {
    into[taken++] = ended_.front();
    ended_.pop_front();
  }
  reserved_ -= taken;
  if (taken > 0 && ended_.empty() && readable_) readable_->lower();
  return taken;
}

result<int> completion_queue::fd() {
  std::lock_guard lock(mutex_);
  if (!readable_) {
    result<event_fd> made = event_fd::make();
    if (!made) return made.error();
    readable_ = std::move(*made);
    if (!ended_.empty()) readable_->raise();
  }
  return readable_->fd();
}

}  // namespace gar::owner
