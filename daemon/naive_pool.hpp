// Naive pool: gard's executor of last resort, one worker thread for one wait.
//
// It needs nothing of the host: no doorbell, no io_uring, no hardware wait. A worker sleeps and
// parks in the plain blocking way and asks the owner at each backstop like the other executors do;
// that is why it is bounded, and why a wait beyond the bound is refused to its client, which then
// runs it itself.
//
//   start -> queued -> a worker's (made when none is free) -> ended: put, sent
//
// Invariants: never more workers than `workers_max`, nor more waits than the node admits, which is
// the same number. Each wait ends by its word, its owner's verdict, its deadline or a stop, the
// latest one park bound after it came about. Where the machine gives no thread for a wait, it ends
// with LimitWaits, and its owner runs it. Asked whether they are alive, all workers answer within a
// second, whatever they wait for.
// Threads: the io thread calls; workers are the pool's. The lock guards the board; sends happen
// under it, and never block. Blocking: `stop` joins.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "daemon/latency_keeper.hpp"
#include "daemon/session_link.hpp"
#include "daemon/shared_node.hpp"
#include "lib/core/inline_host.hpp"
#include "lib/core/node_snapshot.hpp"
#include "lib/core/wait_board.hpp"
#include "lib/linux/steady_clock.hpp"
#include "lib/linux/thread_timer.hpp"
#include "lib/linux/word_wait.hpp"

namespace gar {

struct naive_host {
  interrupt_word news;  // rises with a verdict or a stop
};
using naive_board = wait_board<naive_host>;

class naive_pool {
 public:
  naive_pool(
      shared_node& decisions, word_waiter waiter, size_t workers_max,
      std::function<void()> on_thread, std::function<void()> alive = [] {},
      latency_keeper* latency = nullptr);
  ~naive_pool() { stop(); }
  naive_pool(const naive_pool&) = delete;
  naive_pool& operator=(const naive_pool&) = delete;

  void start(const wait_start& what, const std::shared_ptr<session_link>& link);
  void cancel(const wait_name& which);
  void answer(const probe_answer& what, size_t answers_max);
  void drop(session_id whom);
  // Where the times of waits are noted from now on; none: nowhere.
  void trace(std::shared_ptr<wait_trace> to);
  void kick() {}
  // Each worker answers; the last of them says `alive`. false: some have not answered the last
  // question.
  bool ask_alive();
  // Ends every wait with ShuttingDown, then the workers.
  void stop();

  reactor_counts counts() const;

 private:
  friend class naive_port;

  bool add_worker();
  void work(uint64_t answered);
  result<wait_report> run_one(inline_host& host, naive_board::entry& e, uint64_t& answered);
  // With the lock held.
  void send_gathered();
  // With the lock held, by a worker that turns. `answered`: the last question that it answered.
  void answer_alive(uint64_t& answered);

  ended_waits* ended_;
  word_waiter waiter_;
  size_t workers_max_;
  std::function<void()> on_thread_;
  std::function<void()> alive_;
  latency_keeper* latency_;
  mutable std::mutex lock_;
  std::condition_variable more_;
  naive_board board_;
  std::shared_ptr<wait_trace> trace_;
  std::unordered_map<session_id, std::shared_ptr<session_link>> links_;
  std::deque<naive_board::entry*> queued_;
  std::vector<std::thread> workers_;
  size_t free_workers_ = 0;
  uint64_t questions_ = 0;
  size_t unanswered_ = 0;  // workers that have not answered the last question
  bool stopping_ = false;

  std::atomic<uint64_t> started_ = 0;
  std::atomic<uint64_t> slept_ = 0;
  std::atomic<uint64_t> parked_ = 0;
  std::atomic<uint64_t> idle_ns_ = 0;
};

}  // namespace gar
