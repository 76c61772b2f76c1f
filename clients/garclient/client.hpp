// Client: one program's side of gard, or all of it where there is none.
//
//   connect -> with a gard (a live link) <-> in-process (no link, or a lost one) -> closed
//
// Streams, plans, estimates, counters and the queue of asynchronous completions belong to it; the
// waits themselves are in client_wait.cpp (on the waiting thread) and client_async.cpp (stepped by
// whoever has news of them).
//
// Invariants: the loss of a gard ends no wait: each goes on in-process on the page its number was
// stored in. A stream is known to at most one live link. Driver calls are made on the caller's
// thread or the service thread, never from an exit handler.
// Threads: any, except close (one, the last). Blocking: as each call says in gar.h.
// Lock order: none of these locks is held while another is taken.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "clients/garclient/async_wait.hpp"
#include "clients/garclient/attachment.hpp"
#include "clients/garclient/completion_queue.hpp"
#include "clients/garclient/device_mapping.hpp"
#include "clients/garclient/gar.h"
#include "clients/garclient/link.hpp"
#include "clients/garclient/service_thread.hpp"
#include "clients/garclient/stream.hpp"
#include "clients/garclient/wait_order.hpp"
#include "clients/garclient/word_page.hpp"
#include "lib/core/estimates.hpp"
#include "lib/core/plan_cache.hpp"
#include "lib/core/point_numbers.hpp"
#include "lib/linux/steady_clock.hpp"
#include "lib/linux/watch_set.hpp"

namespace gar::owner {

class client {
 public:
  struct options {
    std::string name;
    std::optional<std::string> socket_path;
    std::optional<std::string> plan_text;  // $GAR_PLAN
    bool in_process = false;
    bool need_daemon = false;
    duration look = look_default;
  };
  // About what a wake of a sleeping thread costs.
  static constexpr duration look_default = from_us(20);

  static result<std::unique_ptr<client>> connect(const options& o);
  ~client();

  bool with_gard() const;
  void publish_rows(uint32_t rows) { rows_.store(rows, std::memory_order_relaxed); }
  uint32_t rows() const { return rows_.load(std::memory_order_relaxed); }
  gar_counters counters() const;
  // The process that opened it.
  int pid() const { return pid_; }
  // In a forked child: closes what would keep the parent's connection open. Nothing else is safe.
  void abandon();

  // ---- Streams (client_streams.cpp).
  result<std::shared_ptr<stream>> open_stream(std::optional<device_stream> device,
                                              const std::string& name);
  result<void> close_stream(const std::shared_ptr<stream>& s) noexcept;
  result<uint64_t> record(const std::shared_ptr<stream>& s);
  // Why the plan in force does not run as asked on this stream; none where it does.
  std::optional<error> warning_of(const stream& s) const;

  // ---- Waits.
  wait_end wait(const wait_order& order);
  result<uint64_t> wait_async(const wait_order& order, void* user_data);
  result<void> cancel(uint64_t ticket);
  size_t take(std::span<gar_completion> into);
  // Readable when something can be taken: an asynchronous wait has ended, or gard has news.
  result<int> readable_fd();

  // Ends everything; the client is not used afterwards.
  void close() noexcept;

 private:
  struct joining {
    handshake hands;
    instant deadline;
  };
  struct tally {
    std::atomic<uint64_t> waits{0};
    std::atomic<uint64_t> delegated{0};
    std::atomic<uint64_t> in_process{0};
    std::atomic<uint64_t> limit_refused{0};
    std::atomic<uint64_t> early_words{0};
    std::atomic<uint64_t> owner_backstops{0};
    std::atomic<uint64_t> reconnects{0};
    std::atomic<uint64_t> pages_leaked{0};
  };

  client(const bands& plan, std::unique_ptr<attachment> to, duration look);

  // ---- The link (client_link.cpp).
  std::shared_ptr<link> live_link() const;
  // Tries to get a gard where there is none, waiting for the handshake for `patience`.
  void want_link(duration patience);
  // For a stream that no gard serves: has it opened at the gard that there is, or tries to get one.
  void want_link_for(const std::shared_ptr<stream>& s);
  void take_link(handshake::joined joined);
  bool serve();
  bool serve_link();
  bool serve_joining();
  void take_begun();
  bool has_begun() const;
  instant due() const;
  size_t watched(std::span<watched_fd> into) const;
  static constexpr size_t watched_max = 3;
  void answer_probes(link& from, const std::vector<proto::probe_entry>& probes);
  result<void> publish(const std::vector<proto::plan_scope>& plans);
  void lose_link(const std::shared_ptr<link>& lost);
  std::shared_ptr<link> broken_link() const;
  // ---- What the program polls (client_link.cpp).
  // The pipe of the gard that is there when it is asked for, so that one wake ends a poll; the
  // service thread forwards what later ones say. Without such a pipe, or where it cannot be joined:
  // an epoll descriptor over the library's own ends and the pipe of each gard.
  result<void> make_program_fd(const std::shared_ptr<link>& at);
  link::pipe_use pipe_use_of(const link& at) const;
  bool forwards(const link& at) const;
  void watch_pipe(const std::shared_ptr<link>& at);
  void unwatch_pipe(const link& lost);

  // ---- Streams (client_streams.cpp).
  result<binding> bind_at_gard(const std::shared_ptr<link>& via, const stream& s,
                               const proto::opened& o);
  result<binding> bind_own(const stream& s);
  result<std::optional<binding>> open_at_gard(const std::shared_ptr<stream>& s);
  void take_up(const std::shared_ptr<stream>& s, binding at);
  void reopen(const std::shared_ptr<stream>& s, const std::shared_ptr<link>& at);
  void ask_to_reopen(const std::shared_ptr<stream>& s, const std::shared_ptr<link>& at);
  void finish_reopening(const std::shared_ptr<stream>& s, const std::shared_ptr<link>& at,
                        const proto::opened& o);
  std::shared_ptr<stream> open_one() const;
  void let_go_settled(const std::shared_ptr<stream>& s);
  void let_go(const std::shared_ptr<const binding>& b, uint64_t last);
  void leak(const std::shared_ptr<const binding>& b);

  // ---- Waits, both ways (client_wait.cpp).
  plan_cache::choice choose(const wait_order& order) const;
  // gard refused this generation in the ring; the newer one comes by socket, perhaps later.
  void await_newer(uint64_t generation, duration patience);
  // The link that a wait of this kind is delegated to; null: it is run here.
  std::shared_ptr<link> delegate_to(const wait_order& order, const plan& how,
                                    const binding& where) const;
  bool gard_would_run(const wait_order& order, const plan& how) const;
  duration sleep_for(const wait_order& order, const plan& how);
  sleep_lateness& sleeps();  // measures at the first use
  // Counts, feeds the estimates and tells gard; lets go of what the wait was the last to need. What
  // there is no memory for is left out.
  void settle_accounts(const wait_order& order, const plan& how, const wait_end& end) noexcept;
  void account(const wait_order& order, const plan& how, const wait_end& end);
  void count(const wait_end& end, booking as);
  void learn(const wait_order& order, const plan& how, const wait_end& end);
  void count_refused(const wait_order& order);
  void add_outcome(const wait_order& order, const wait_end& end, uint8_t what);
  uint64_t estimate_key(const wait_order& order);  // estimates_lock_ held

  wait_end run_inline(const wait_order& order, const plan& how, const binding& where);
  // Nothing: the wait goes on without gard, or `left` says how.
  std::optional<wait_end> run_delegated(const wait_order& order, const plan_cache::choice& c,
                                        const std::shared_ptr<const binding>& where,
                                        owner_wait::reason& left);

  // ---- Asynchronous waits (client_async.cpp).
  void step_async(async_wait& w);
  void step_on(async_wait& w);
  std::optional<instant> advance_async(async_wait& w);
  void give_up_async(async_wait& w, errc why);
  std::optional<gard_wait::state> begin_at_gard(async_wait& w);
  std::optional<instant> left_gard(async_wait& w);
  void run_here(async_wait& w);
  void finish_async(async_wait& w, const wait_end& end) noexcept;
  void end_found(const async_waits::found& one) noexcept;
  // Ends those of the stream (null: all) and waits until they have ended.
  void end_async_of(const stream* s, errc why) noexcept;
  // The service thread.
  bool step_due();
  reactor::task<> run_async(async_wait& w);
  reactor::task<wait_end> end_of_task(async_wait& w);
  reactor::task<result<wait_report>> run_as_task(async_wait& w, plan how,
                                                 std::shared_ptr<const binding> where);

  const int pid_;
  const std::unique_ptr<attachment> attachment_;  // null: never connects
  std::atomic<int> socket_number_{-1};            // of the live link, for abandon()
  const duration look_;
  std::atomic<uint32_t> rows_{0};
  tally tally_;

  mutable std::mutex plans_lock_;
  std::condition_variable plans_changed_;
  plan_cache plans_;

  std::mutex estimates_lock_;
  estimates estimates_;
  estimates rehearsed_{1};  // what rehearsals record
  point_numbers points_;
  std::once_flag sleeps_measured_;
  std::optional<sleep_lateness> sleeps_;  // of this client's inline waits

  mutable std::mutex link_lock_;
  std::condition_variable joined_;
  std::shared_ptr<link> link_;
  bool joining_now_ = false;
  std::optional<joining> begun_;  // for the service thread to take, which needs no memory

  mutable std::mutex streams_lock_;
  uint64_t next_stream_id_ = 1;
  std::map<uint64_t, std::shared_ptr<stream>> streams_;
  own_pages own_pages_;
  std::shared_ptr<device_mappings> mappings_ = std::make_shared<device_mappings>();

  completion_queue completions_;
  std::mutex watch_lock_;
  std::optional<watch_set> watch_;
  std::atomic<bool> watched_{false};
  int watched_pipe_ = -1;
  std::atomic<bool> polls_pipe_{false};            // the program polls the pipe itself
  std::atomic<const link*> polled_link_{nullptr};  // whose pipe it is, while that lives
  async_waits async_;
  const step_function step_ = [this](async_wait& w) { step_async(w); };

  // The service thread's own.
  std::optional<joining> joining_;

  service_thread service_;  // last: it uses all of the above
};

}  // namespace gar::owner
