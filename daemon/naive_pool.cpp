#include "daemon/naive_pool.hpp"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "daemon/wait_frames.hpp"
#include "lib/core/query_pace.hpp"
#include "lib/core/wait.hpp"

namespace gar {

namespace {

// A worker that sleeps longer looks up so often, to show that it turns.
constexpr duration sleep_unseen_max = from_ms(1000);

auto interrupter() {
  return [](naive_board::entry& e) { e.news.interrupt(); };
}

}  // namespace

// completion_port and timer_port of one worker: every verb blocks.
class naive_port {
 public:
  naive_port(naive_pool& pool, naive_board::entry& e, uint64_t& answered)
      : pool_(&pool), entry_(&e), answered_(&answered), pace_(pool.waiter_.pace()) {}

  result<bool> query(uint64_t) {
    const std::lock_guard hold(pool_->lock_);
    pool_->answer_alive(*answered_);
    const bool asks = parked_ && clock_.now() < entry_->how.deadline;
    result<bool> done = pool_->board_.answer_of(*entry_, asks);
    if (asks) pool_->send_gathered();
    return done;
  }

  result<bool> block(uint64_t sequence) {
    for (;;) {
      result<bool> done = query(sequence);
      if (!done || *done) return done;
      const instant now = clock_.now();
      if (now >= entry_->how.deadline) return false;
      wait_for_word(std::min(now + block_park_max, entry_->how.deadline));
    }
  }

  // Under a plan that parks it is reached when the word ran backwards. That must cost no CPU,
  // however often it does so again: from then on no store wakes it.
  result<bool> poll(uint64_t sequence) {
    const instant early_at = clock_.now();
    for (;;) {
      result<bool> done = query(sequence);
      if (!done || *done) return done;
      const instant now = clock_.now();
      if (now >= entry_->how.deadline) return false;
      if (entry_->how.park == park_kind::poll) {
        spin(std::min(now + block_park_max, entry_->how.deadline));
      } else {
        rest_until(std::min(next_look(early_at, now, entry_->how.backstop), entry_->how.deadline));
      }
    }
  }

  result<void> arm() { return {}; }

  result<park_answer> park(park_bound bound) {
    parked_ = true;
    wait_for_word(clock_.now() + bound.park);
    if (!entry_->news.interrupted()) return park_answer{entry_->word.complete(), 1};
    const std::lock_guard hold(pool_->lock_);
    if (entry_->stop != wait_stop::none) return error(errc::Cancelled);
    return park_answer{true, 1};
  }

  // A verdict that comes meanwhile ends the sleep too: the look after it takes it.
  result<void> sleep_until(instant at) {
    pool_->slept_.fetch_add(1, std::memory_order_relaxed);
    const instant from = clock_.now();
    for (instant now = from; now < at && !entry_->news.interrupted(); now = clock_.now()) {
      entry_->news.wait_until(std::min(at, now + sleep_unseen_max));
      const std::lock_guard hold(pool_->lock_);
      pool_->answer_alive(*answered_);
    }
    pool_->idle_ns_.fetch_add((clock_.now() - from).ns, std::memory_order_relaxed);
    const std::lock_guard hold(pool_->lock_);
    if (entry_->stop != wait_stop::none) return error(errc::Cancelled);
    if (!entry_->news.interrupted()) pool_->board_.slept(clock_.now() - at);
    return {};
  }

 private:
  bool still_waiting() const { return !entry_->word.complete() && !entry_->news.interrupted(); }

  void wait_for_word(instant until) {
    pool_->parked_.fetch_add(1, std::memory_order_relaxed);
    due_waits due(pool_->latency_);
    due.say(true);
    const instant from = clock_.now();
    // Where the wait began, or its predicted sleep ended.
    if (!std::exchange(looked_, true)) pace_.expect(from);
    pool_->waiter_.wait(
        *entry_->word.word(), [this] { return still_waiting(); }, until, clock_, pace_);
    pool_->idle_ns_.fetch_add((clock_.now() - from).ns, std::memory_order_relaxed);
  }

  void rest_until(instant at) {
    const instant from = clock_.now();
    entry_->news.wait_until(at);
    pool_->idle_ns_.fetch_add((clock_.now() - from).ns, std::memory_order_relaxed);
  }

  void spin(instant until) {
    due_waits due(pool_->latency_);
    due.say(true);
    while (still_waiting() && clock_.now() < until) {
    }
  }

  naive_pool* pool_;
  naive_board::entry* entry_;
  uint64_t* answered_;
  steady_clock clock_;
  look_pace pace_;
  bool looked_ = false;
  bool parked_ = false;
};

static_assert(completion_port<naive_port> && timer_port<naive_port>);

naive_pool::naive_pool(shared_node& decisions, word_waiter waiter, size_t workers_max,
                       std::function<void()> on_thread, std::function<void()> alive,
                       latency_keeper* latency)
    : ended_(&decisions.ended()),
      waiter_(waiter),
      workers_max_(workers_max),
      on_thread_(std::move(on_thread)),
      alive_(std::move(alive)),
      latency_(latency) {
  board_.learn_sleeps(&decisions.sleeps());
}

void naive_pool::start(const wait_start& what, const std::shared_ptr<session_link>& link) {
  const std::lock_guard hold(lock_);
  links_.try_emplace(what.session, link);
  queued_.push_back(&board_.add(what));
  ended_->reserve(board_.waits());
  if (queued_.size() <= free_workers_ || workers_.size() == workers_max_) {
    return more_.notify_one();
  }
  if (add_worker()) return;
  naive_board::entry& nobodys = *queued_.back();
  queued_.pop_back();
  board_.end(nobodys, error(errc::LimitWaits, {std::to_string(workers_.size())}));
  send_gathered();
}

bool naive_pool::add_worker() {
  try {
    workers_.emplace_back([this, answered = questions_] { work(answered); });
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void naive_pool::cancel(const wait_name& which) {
  const std::lock_guard hold(lock_);
  if (naive_board::entry* e = board_.find(which)) {
    board_.stop(*e, wait_stop::cancelled, interrupter());
  }
}

void naive_pool::answer(const probe_answer& what, size_t) {
  const std::lock_guard hold(lock_);
  board_.answer(what, interrupter());
  send_gathered();
}

void naive_pool::drop(session_id whom) {
  const std::lock_guard hold(lock_);
  board_.drop(whom, interrupter());
  if (!board_.knows(whom)) links_.erase(whom);
}

void naive_pool::trace(std::shared_ptr<wait_trace> to) {
  const std::lock_guard hold(lock_);
  trace_ = std::move(to);
  board_.trace_to(trace_.get());
}

void naive_pool::stop() {
  {
    const std::lock_guard hold(lock_);
    stopping_ = true;
    board_.stop_all(wait_stop::shutting_down, interrupter());
    more_.notify_all();
  }
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
}

bool naive_pool::ask_alive() {
  const std::lock_guard hold(lock_);
  if (unanswered_ > 0) return false;
  ++questions_;
  unanswered_ = workers_.size();
  if (workers_.empty()) alive_();
  more_.notify_all();
  return true;
}

void naive_pool::answer_alive(uint64_t& answered) {
  if (answered == questions_) return;
  answered = questions_;
  if (--unanswered_ == 0) alive_();
}

void naive_pool::work(uint64_t answered) {
  on_thread_();
  inline_host host;
  std::unique_lock hold(lock_);
  for (;;) {
    ++free_workers_;
    more_.wait(hold, [&] {
      answer_alive(answered);
      return stopping_ || !queued_.empty();
    });
    --free_workers_;
    if (queued_.empty()) return;
    naive_board::entry& e = *queued_.front();
    queued_.pop_front();
    if (trace_) board_.trace_start(e, steady_clock().now());
    hold.unlock();
    const result<wait_report> report = run_one(host, e, answered);
    hold.lock();
    board_.end(e, report);
    send_gathered();
    if (trace_) trace_->notified(steady_clock().now());
    for (session_id gone : board_.take_left()) links_.erase(gone);
  }
}

result<wait_report> naive_pool::run_one(inline_host& host, naive_board::entry& e,
                                        uint64_t& answered) {
  started_.fetch_add(1, std::memory_order_relaxed);
  naive_port port(*this, e, answered);
  steady_clock clock;
  return host.run(run_wait(host, e.how, e.word.target(), port, clock, port), "the naive executor");
}

void naive_pool::send_gathered() {
  board_.flush([this](const std::vector<wait_end>& ended) { ended_->put(ended); },
               [this](session_id to, const auto& completions, const auto& probes) {
                 const auto at = links_.find(to);
                 if (at != links_.end()) send_wait_frames(*at->second, completions, probes);
               });
}

reactor_counts naive_pool::counts() const {
  const std::lock_guard hold(lock_);
  reactor_counts c;
  c.polls = c.woken = started_.load(std::memory_order_relaxed);
  c.slept = slept_.load(std::memory_order_relaxed);
  c.parked = parked_.load(std::memory_order_relaxed);
  c.idle_ns = idle_ns_.load(std::memory_order_relaxed);
  c.backstop_probes = board_.probes_sent();
  return c;
}

}  // namespace gar
