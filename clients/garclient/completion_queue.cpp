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
  if (takers_ > 0 || raised_ == (count_ > 0)) return;
  if (pipe_) {
    raised_ = true;
    pipe_->raise();  // the next taking lowers it
  } else if (readable_) {
    raised_ = count_ > 0;
    raised_ ? readable_->raise() : readable_->lower();
  }
}

void completion_queue::put(const gar_completion& ended) {
  std::lock_guard lock(mutex_);
  ended_[(first_ + count_++) & (ended_.size() - 1)] = ended;
  show();
}

void completion_queue::begin_taking() {
  std::lock_guard lock(mutex_);
  ++takers_;
  if (!pipe_) return;
  // Nothing raises it here until the taking is over; what gard puts in meanwhile stays, or was for
  // an end that is about to be taken.
  raised_ = false;
  pipe_->lower();
}

size_t completion_queue::take(std::span<gar_completion> into) {
  std::lock_guard lock(mutex_);
  const size_t taken = std::min(into.size(), count_);
  for (size_t i = 0; i < taken; ++i) into[i] = ended_[(first_ + i) & (ended_.size() - 1)];
  first_ += taken;
  count_ -= taken;
  reserved_ -= taken;
  return taken;
}

void completion_queue::end_taking() {
  std::lock_guard lock(mutex_);
  --takers_;
  show();
}

result<void> completion_queue::show_in(int pipe_read_end) {
  std::lock_guard lock(mutex_);
  result<pipe_signal> joined = pipe_signal::join(pipe_read_end);
  if (!joined) return joined.error();
  pipe_ = std::move(*joined);
  show();
  return {};
}

result<int> completion_queue::fd() {
  std::lock_guard lock(mutex_);
  if (pipe_) return pipe_->fd();
  if (!readable_) {
    result<event_fd> made = event_fd::make();
    if (!made) return made.error();
    readable_ = std::move(*made);
    show();
  }
  return readable_->fd();
}

}  // namespace gar::owner
