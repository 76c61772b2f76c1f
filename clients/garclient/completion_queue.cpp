#include "clients/garclient/completion_queue.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace gar::owner {
namespace {

constexpr size_t room_least = 64;

}  // namespace

result<uint64_t> completion_queue::reserve() {
  std::lock_guard lock(mutex_);
  if (reserved_ == waits_max) return error(errc::LimitWaits, {std::to_string(waits_max)});
  if (reserved_ == ended_.size()) {
    std::vector<gar_completion> larger(std::max(room_least, ended_.size() * 2));
    for (size_t i = 0; i < count_; ++i) larger[i] = ended_[(first_ + i) & (ended_.size() - 1)];
    ended_.swap(larger);
    first_ = 0;
  }
  ++reserved_;
  return ++last_ticket_;
}

void completion_queue::give_back() {
  std::lock_guard lock(mutex_);
  --reserved_;
}

bool completion_queue::was_given(uint64_t ticket) const {
  std::lock_guard lock(mutex_);
  return ticket > 0 && ticket <= last_ticket_;
}

void completion_queue::show() {
  if (!readable_ || takers_ > 0 || raised_ == (count_ > 0)) return;
  raised_ = count_ > 0;
  raised_ ? readable_->raise() : readable_->lower();
}

void completion_queue::put(const gar_completion& ended) {
  std::lock_guard lock(mutex_);
  ended_[(first_ + count_++) & (ended_.size() - 1)] = ended;
  show();
}

void completion_queue::begin_taking() {
  std::lock_guard lock(mutex_);
  ++takers_;
}

size_t completion_queue::take(std::span<gar_completion> into) {
  std::lock_guard lock(mutex_);
  --takers_;
  const size_t taken = std::min(into.size(), count_);
  for (size_t i = 0; i < taken; ++i) into[i] = ended_[(first_ + i) & (ended_.size() - 1)];
  first_ += taken;
  count_ -= taken;
  reserved_ -= taken;
  show();
  return taken;
}

result<int> completion_queue::fd() {
  std::lock_guard lock(mutex_);
  if (!readable_) {
    result<event_fd> made = event_fd::make();
    if (!made) return made.error();
    readable_ = std::move(*made);
    show();
  }
  return readable_->fd();
}

}  // namespace gar::owner
