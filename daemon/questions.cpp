#include "daemon/questions.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

namespace gar {
namespace asio = boost::asio;

questions::ticket questions::ask(uint64_t user, begin_function begin, done_function done) {
  forget_resting(clock_.now());
  asker& who = askers_[user];
  if (who.waiting.empty()) turns_.push_back(user);
  who.waiting.push_back({++last_, std::move(begin), std::move(done), std::nullopt});
  next_turn();
  return last_;
}

void questions::forget(uint64_t user, ticket which) {
  const auto at = askers_.find(user);
  if (at == askers_.end()) return;
  std::deque<question>& waiting = at->second.waiting;
  std::erase_if(waiting, [which](const question& q) { return q.number == which; });
  if (waiting.empty()) std::erase(turns_, user);
}

// Behind everything that is ready now.
void questions::next_turn() {
  if (turns_.empty() || std::exchange(turning_, true)) return;
  asio::post(*io_, [this] {
    turning_ = false;
    turn();
  });
}

// The first of those whose turn it is who does not rest; else the time when one may go on.
std::optional<uint64_t> questions::whose_turn(instant now, instant& else_at) {
  for (size_t i = 0; i < turns_.size(); ++i) {
    const uint64_t user = turns_.front();
    turns_.pop_front();
    turns_.push_back(user);
    const instant runs_at = user == operators ? instant{} : askers_.at(user).share.runs_at();
    if (runs_at <= now) return user;
    else_at = std::min(else_at, runs_at);
  }
  return std::nullopt;
}

void questions::turn() {
  const instant began = clock_.now();
  instant else_at = instant::never();
  const std::optional<uint64_t> user = whose_turn(began, else_at);
  if (!user) {
    if (else_at != instant::never()) rest_until(else_at);
    return;
  }
  if (step(askers_.at(*user).waiting.front())) end_first_of(*user);
  const instant now = clock_.now();
  askers_[*user].share.spend(now, now - began);
  next_turn();
}

void questions::end_first_of(uint64_t user) {
  asker& who = askers_.at(user);
  question first = std::move(who.waiting.front());
  who.waiting.pop_front();
  if (who.waiting.empty()) std::erase(turns_, user);
  first.done(first.answer->take());  // which may ask again
}

// Whoever asks meanwhile has its turn at once.
void questions::rest_until(instant at) {
  rest_.expires_at(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(at.ns)));
  rest_.async_wait([this](const boost::system::error_code& failed) {
    if (!failed) next_turn();
  });
}

bool questions::step(question& of) {
  if (of.answer) return of.answer->step();
  of.answer = of.begin();
  return of.answer->step();
}

void questions::forget_resting(instant now) {
  std::erase_if(askers_, [now](const auto& each) {
    return each.second.waiting.empty() && each.second.share.at_rest(now);
  });
}

}  // namespace gar
