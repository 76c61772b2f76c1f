// Reactor thread: gard's gpu-reactor and io-uring executors, one thread for every wait.
//
// All waits are tasks of one reactor, so that one park watches the whole machine. The io thread
// hands requests over through a bounded queue and a waker; completions and probes leave from here,
// straight to the clients' sockets, before the thread idles.
//
//   io thread --start, cancel, answer, drop--> queue --waker--> turn: take, look, run, send, idle
//   client    --ring, request flag, bell-----------------------^
//
// Requests by ring are taken here too: the thread holds the node's lock for as long as it takes
// what waits, and never while it ends waits. Where the io thread has the lock, it goes on looking.
// A ring is looked at when its flag is set; when its client asks for it by a message; and now and
// then without, since others can take the flag back.
//
// The io-uring executor also carries the sockets of the clients that were welcomed (adopt): their
// frames come by its ring, the thread tells the node, carries out at once what concerns waits and
// answers, and leaves the rest to the io thread. While that carries effects out, frames wait.
//
// Invariants: the queue holds no more than was admitted: one start, one cancel and one drop for
// each wait and session, one of each request about a socket, for each session one look and no more
// answers than it can have probes outstanding, one question whether it is alive, and what an
// operator asks for: the trace, the stop. Ended waits are put where the node finds them before
// their completions leave. From a store to the wake of a client with a ring there is no lock and no
// allocation, and one system call at most; a frame for a client without one is encoded, and sent
// under its link's lock. With nothing to wait for the thread blocks in the kernel.
// Threads: the io thread calls; the thread is this object's own.
// Blocking: `stop` joins, and takes no longer than one turn.
// Ownership: bell and state page outlive it.
// Memory order: the queue's lock orders its contents; `waiting` is what the idle port re-checks,
// with the request flags.
#pragma once

#include <array>
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/duration_counts.hpp"
#include "daemon/fatal.hpp"
#include "daemon/latency_keeper.hpp"
#include "daemon/published_counts.hpp"
#include "daemon/reactor_requests.hpp"
#include "daemon/session_link.hpp"
#include "daemon/shared_node.hpp"
#include "daemon/socket_traffic.hpp"
#include "daemon/wait_frames.hpp"
#include "lib/core/delegated_wait.hpp"
#include "lib/core/node_snapshot.hpp"
#include "lib/core/ring_intake.hpp"
#include "lib/linux/bell_trust.hpp"
#include "lib/linux/reactor_waker.hpp"
#include "lib/linux/request_flags.hpp"
#include "lib/linux/steady_clock.hpp"
#include "lib/linux/system_call.hpp"
#include "lib/linux/word_wait.hpp"

namespace gar {

// The requests() of the idle port.
struct requests_waiting {
  const std::atomic<bool>* handed_over;
  const request_flags* by_ring;
  bool operator()() const { return handed_over->load(std::memory_order_acquire) || by_ring->any(); }
};

// What the reactor's thread parks on, and who wakes it.
struct reactor_parts {
  const doorbell* bell;
  state_page_owner* state;
  word_waiter waiter;
  latency_keeper* latency = nullptr;    // is told when waits are due
  std::function<void()> alive = [] {};  // answers `ask_alive`, on a thread of the executor
};

template <idle_port Idle>
class reactor_thread {
 public:
  // `on_thread` is called first, on the thread; `idle_needs` go to the idle port.
  // `traffic` is there where the idle port has a ring, and carries the clients' sockets.
  template <class OnThread, class... IdleNeeds>
  reactor_thread(shared_node& decisions, const reactor_parts& parts, OnThread on_thread,
                 std::unique_ptr<socket_traffic> traffic, IdleNeeds&&... idle_needs)
      : node_(&decisions),
        traffic_(std::move(traffic)),
        flags_(*parts.bell),
        idle_(*parts.bell, *parts.state, parts.waiter, requests_waiting{&waiting_, &flags_},
              std::forward<IdleNeeds>(idle_needs)...),
        due_(parts.latency),
        alive_(parts.alive),
        waker_(*parts.bell, *parts.state, event_fd()),
        thread_([this, on_thread] {
          waits_.board().learn_sleeps(&node_->sleeps());
          on_thread();
          run();
        }) {}
  ~reactor_thread() { stop(); }
  reactor_thread(const reactor_thread&) = delete;
  reactor_thread& operator=(const reactor_thread&) = delete;

  void start(const wait_start& what, const std::shared_ptr<session_link>& link) {
    put(start_request{what, link});
  }
  void cancel(const wait_name& which) { put(cancel_request{which}); }
  void answer(const probe_answer& what, size_t answers_max) {
    {
      const std::lock_guard hold(lock_);
      size_t& queued = answers_queued_[what.session];
      if (queued >= answers_max) return;  // nobody has so many probes outstanding
      ++queued;
    }
    put(what);
  }
  void drop(session_id whom) { put(drop_request{whom}); }
  void attach(session_id whom, const std::shared_ptr<session_link>& link) {
    put(attach_request{whom, link});
  }
  void look(session_id at) {
    {
      const std::lock_guard hold(lock_);
      if (!looks_queued_.insert(at).second) return;
    }
    put(look_request{at});
  }
  // The thread says `alive` in its next turn. false: it has not answered the last question.
  bool ask_alive() {
    if (asked_.exchange(true, std::memory_order_relaxed)) return false;
    put(alive_request{});
    return true;
  }

  // ---- The sockets, where it carries them.
  bool carries_sockets() const { return traffic_ != nullptr; }
  void adopt(session_id whom, const std::shared_ptr<session_link>& link) {
    put(adopt_request{whom, link});
  }
  void has_messages(session_id whom) { put(messages_request{whom}); }
  void let_go(session_id whom) { put(let_go_request{whom}); }
  void owner_died(session_id whom) { put(died_request{whom}); }
  // The io thread carries out no effects any more.
  void resume() { put(resume_request{}); }

  void trace(std::shared_ptr<wait_trace> to) { put(trace_request{std::move(to)}); }
  duration_histogram told() const { return told_.read(); }

  // What was put since the last call is taken soon: one wake for many requests.
  void kick() {
    if (std::exchange(kick_needed_, false)) waker_.wake();
  }

  // Ends every wait with ShuttingDown, sends what there is to send, ends the thread.
  void stop() {
    if (!thread_.joinable()) return;
    put(stop_request{});
    kick();
    thread_.join();
  }

  reactor_counts counts() const { return counts_.read(); }

 private:
  using request = reactor_request;

  void put(request r) {
    const std::lock_guard hold(lock_);
    queue_.push_back(std::move(r));
    waiting_.store(true, std::memory_order_release);
    kick_needed_ = true;
  }

  void run() {
    const auto between = [this] {
      send_gathered();
      return take_requests();
    };
    for (;;) {
      const turned how = turn(reactor_, clock_, idle_, between);
      due_.say(reactor_.armed() > 0);
      for (session_id gone : waits_.board().take_left()) links_.erase(gone);
      counts_.publish(reactor_.statistics(), waits_.board().probes_sent());
      // A wait that threw can never end; better no gard than one that lost a wait.
      if (std::exception_ptr failure = reactor_.take_failure()) std::rethrow_exception(failure);
      if (how != turned::empty) continue;
      if (stopping_ && reactor_.tasks() == 0) break;
      idle_.block();
    }
    send_gathered();
    if constexpr (has_ring) {
      if (!traffic_) return;
      traffic_->submit(idle_.ring(), false);
      traffic_->give_back(idle_.ring());
    }
  }

  bool take_requests() {
    if constexpr (has_ring) {
      if (traffic_) traffic_->take_ended(idle_.ring());
    }
    const bool asked = requests_waiting{&waiting_, &flags_}() || frames_wait() || unflagged();
    if (asked) take_all();
    return submit_traffic() || asked;
  }

  bool frames_wait() const { return traffic_ && !deferred_ && traffic_->has_frames(); }

  bool submit_traffic() {
    if constexpr (has_ring) {
      if (!traffic_) return false;
      const bool more = traffic_->submit(idle_.ring(), !deferred_);
      // Nobody could be served any more, nor told: receives that the kernel holds may have taken
      // frames which nobody will see. A new gard runs without a ring where it must.
      if (idle_.ring().failed()) {
        end_at_once(system_error("io_uring_enter", idle_.ring().failure()), ring_lost_status);
      }
      return more || frames_wait();
    } else {
      return false;
    }
  }

  // Anybody on the machine can take back a flag that a client has set. So from time to time each
  // ring is looked at that has none, more seldom the more there are; and where its client asks for
  // it by a message. true: there are such rings.
  bool unflagged() {
    const instant now = clock_.now();
    if (seats_.empty() || now < sweep_at_) return !to_look_at_.empty();
    sweep_at_ = now + sweep_pause + duration{seats_.size() * sweep_pause_each.ns};
    for (size_t flag = 0; flag < seats_.size(); ++flag) {
      if (flags_.watched(flag) && seats_[flag]->ring.has_requests()) to_look_at_.push_back(flag);
    }
    return !to_look_at_.empty();
  }

  void look_at_ring(node& decisions, size_t flag, instant now) {
    ring_seat& seat = *seats_[flag];
    if (!take_ring(decisions, waits_, seat, now)) {
      flags_.unwatch(flag);
      seat.session = 0;  // nobody's any more
    } else if (seat.fruitless >= bell_trust::fruitless_max) {
      distrust(flag, now);
    }
  }

  void take_all() {
    const auto take = [this](node& decisions) {
      take_handed_over();
      const instant now = clock_.now();
      flags_.take([&](size_t flag) { look_at_ring(decisions, flag, now); });
      for (const size_t flag : std::exchange(to_look_at_, {})) {
        if (flags_.watched(flag)) look_at_ring(decisions, flag, now);
      }
      take_frames(decisions, now);
      node_->ended().reserve(waits_.board().waits());
    };
    if (node_->try_with(take)) {
      node_busy_ = 0;
    } else if (++node_busy_ >= node_busy_max) {
      node_busy_ = 0;
      node_->wait_with(take);
    }
  }

  // One of each client at most, and with the node's lock held.
  void take_frames(node& decisions, instant now) {
    while (frames_wait()) {
      deferred_ = !node_->may_carry();
      if (deferred_) break;
      traffic_->take_frame(decisions, now);
      decisions.offer_effects([this](effect::any& e) {
        return std::visit([this](auto& what) { return this->carry(what); }, e);
      });
    }
  }

  // ---- Effects: true where it was carried out here. What blocks or takes long is the io thread's.

  template <class Effect>
  bool carry(Effect&) {
    return false;
  }
  bool carry(effect::send& e) {
    const std::shared_ptr<session_link>* link = traffic_->link_of(e.to);
    if (!link || e.descriptors == effect::with::welcome_pages) return false;
    if (std::holds_alternative<proto::plan_scope>(e.what)) return false;
    const int page = e.descriptors == effect::with::nothing ? -1 : (*link)->pages().back().fd();
    (*link)->send(proto::encode(e.what), std::span(&page, page < 0 ? 0 : 1));
    traffic_->has_messages(e.to);
    return true;
  }
  bool carry(effect::start_wait& e) {
    const std::shared_ptr<session_link>* link = traffic_->link_of(e.what.session);
    if (!link) return false;
    start_request r{std::move(e.what), *link};
    carry_out(r);
    return true;
  }
  bool carry(effect::cancel_wait& e) {
    waits_.cancel(e.which);
    return true;
  }
  bool carry(effect::answer_probe& e) {
    waits_.answer(e.what);
    return true;
  }
  bool carry(effect::look& e) {
    look_request r{e.at};
    carry_out(r);
    return true;
  }

  // Anybody on the machine can set a flag without end. One that was set over and over for nothing
  // is not looked at for a while: what is forged costs bounded CPU, and its client a short delay.
  void distrust(size_t flag, instant now) {
    ring_seat& seat = *seats_[flag];
    seat.fruitless = 0;
    flags_.unwatch(flag);
    reactor_.spawn(trust_again(reactor_, *this, flag, seat.session, now));
  }
  static reactor::task<> trust_again(reactor& r, reactor_thread& self, size_t flag, session_id of,
                                     instant now) {
    co_await r.sleep_until(now + bell_trust::distrust_for);
    const std::unique_ptr<ring_seat>& seat = self.seats_[flag];
    if (!self.stopping_ && seat && seat->session == of) self.flags_.watch(flag);
  }

  void take_handed_over() {
    if (!waiting_.load(std::memory_order_acquire)) return;
    {
      const std::lock_guard hold(lock_);
      taken_.swap(queue_);
      answers_queued_.clear();
      looks_queued_.clear();
      waiting_.store(false, std::memory_order_relaxed);
    }
    for (request& r : taken_) {
      std::visit([this](auto& what) { this->carry_out(what); }, r);
    }
    taken_.clear();
  }

  void carry_out(start_request& r) {
    links_.try_emplace(r.what.session, std::move(r.link));
    waits_.start(r.what);
    if (stopping_) waits_.cancel({r.what.session, r.what.place});
  }
  void carry_out(cancel_request& r) { waits_.cancel(r.which); }
  void carry_out(probe_answer& a) { waits_.answer(a); }
  void carry_out(attach_request& r) {
    const session_link::client_notification& given = *r.link->ring();
    if (seats_.size() <= given.flag) seats_.resize(given.flag + 1);
    std::unique_ptr<ring_seat>& seat = seats_[given.flag];
    seat = std::make_unique<ring_seat>();
    seat->session = r.whom;
    seat->ring = client_ring(given.page.data(), given.page.entries());
    seat->waits = &waits_.board().attach(r.whom, seat->ring);
    links_.try_emplace(r.whom, std::move(r.link));
    if (!stopping_) flags_.watch(given.flag);
  }
  void carry_out(drop_request& r) {
    waits_.drop(r.whom);  // its ring is written no more
    const auto link = links_.find(r.whom);
    if (link != links_.end() && link->second->ring()) {
      const size_t flag = link->second->ring()->flag;
      flags_.unwatch(flag);
      seats_[flag].reset();
    }
    if (!waits_.board().knows(r.whom)) links_.erase(r.whom);
  }
  // Only where there is traffic is any of these put.
  void carry_out(adopt_request& r) { traffic_->adopt(r.whom, std::move(r.link)); }
  void carry_out(messages_request& r) { traffic_->has_messages(r.whom); }
  void carry_out(let_go_request& r) { traffic_->let_go(r.whom); }
  void carry_out(died_request& r) { traffic_->owner_died(r.whom); }
  void carry_out(look_request& r) {
    const auto link = links_.find(r.at);
    if (link != links_.end() && link->second->ring()) {
      to_look_at_.push_back(link->second->ring()->flag);
    }
  }
  // What ended was told before requests are taken.
  void carry_out(trace_request& r) {
    trace_ = std::move(r.to);
    waits_.board().trace_to(trace_.get());
  }
  void carry_out(resume_request&) { deferred_ = false; }
  void carry_out(alive_request&) {
    asked_.store(false, std::memory_order_relaxed);
    alive_();
  }
  void carry_out(stop_request&) {
    stopping_ = true;
    // What is asked from here on is answered by bye: who asks without end must not hold up the end.
    for (const std::unique_ptr<ring_seat>& seat : seats_) {
      if (seat) flags_.unwatch(static_cast<size_t>(&seat - seats_.data()));
    }
    waits_.shut_down();
  }

  void send_gathered() {
    session_id one_of_them = 0;
    waits_.board().flush(
        [&](const std::vector<wait_end>& ended) {
          node_->ended().put(ended);
          one_of_them = ended.front().session;
        },
        [this](session_id of, client_ring& ring, uint32_t wants) {
          const auto at = links_.find(of);
          if (at != links_.end()) at->second->ring()->page.wake(ring, wants);
        },
        [this](session_id to, const auto& completions, const auto& probes) {
          const auto at = links_.find(to);
          if (at == links_.end()) return;
          send_wait_frames(*at->second, completions, probes);
          if (traffic_) traffic_->has_messages(to);
        });
    if (one_of_them != 0) have_told(one_of_them);
  }

  // After the wakes, so that no client waits for the clock; and not every time, so that the next
  // completions do not either.
  void have_told(session_id one_of_them) {
    if (trace_) [[unlikely]]
      trace_->notified(clock_.now());
    if (++tellings_ % tellings_a_sample != 0) return;
    const duration after = clock_.now() - reactor_.now();  // since the look
    told_.add(after);
    const auto at = links_.find(one_of_them);
    if (at != links_.end()) at->second->told().add(after);
  }

  // The io-uring executor's sleep ends by a descriptor, the other's by a futex.
  int event_fd() {
    if constexpr (requires { idle_.event_fd(); }) {
      return idle_.event_fd();
    } else {
      return -1;
    }
  }

  static constexpr uint64_t tellings_a_sample = 16;
  // So many turns go by without the node's lock before one waits for it.
  static constexpr int node_busy_max = 64;
  // Between looks at all rings: so long, and so much more for each.
  static constexpr duration sweep_pause = from_ms(1);
  static constexpr duration sweep_pause_each = from_us(16);
  static constexpr bool has_ring = requires(Idle & idle) { idle.ring(); };

  shared_node* node_;
  std::unique_ptr<socket_traffic> traffic_;  // before the ring, which writes to its memory
  std::atomic<bool> waiting_ = false;
  std::mutex lock_;
  std::vector<request> queue_;
  std::unordered_map<session_id, size_t> answers_queued_;
  std::unordered_set<session_id> looks_queued_;
  bool kick_needed_ = false;  // the io thread's
  std::atomic<bool> asked_ = false;

  // The thread's own.
  reactor reactor_;
  delegated_waits waits_{reactor_};
  std::shared_ptr<wait_trace> trace_;  // its waits are noted there
  uint64_t tellings_ = 0;
  steady_clock clock_;
  request_flags flags_;
  std::vector<std::unique_ptr<ring_seat>> seats_;  // by request flag
  Idle idle_;
  std::unordered_map<session_id, std::shared_ptr<session_link>> links_;
  std::vector<request> taken_;
  std::vector<size_t> to_look_at_;  // request flags, of rings that are to be looked at without them
  instant sweep_at_;
  int node_busy_ = 0;
  bool deferred_ = false;  // frames wait until the io thread has carried out its effects
  due_waits due_;
  std::function<void()> alive_;
  bool stopping_ = false;

  published_counts counts_;
  duration_counts told_;

  reactor_waker waker_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace gar
