// Wait service: the executor that runs, behind one face.
//
// Which executor it is was resolved at start and never changes; the io thread hands every wait to
// it and does not care. One variant, chosen once, stands for what a virtual interface would be.
//
// Threads: the io thread. Errors: none.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <variant>

#include "daemon/naive_pool.hpp"
#include "daemon/reactor_thread.hpp"
#include "lib/core/resolve.hpp"
#include "lib/linux/idle_doorbell.hpp"
#include "lib/linux/idle_ring.hpp"

namespace gar {

// What the io-uring executor sleeps in, and carries the clients' sockets by.
struct ring_parts {
  socket_ring sockets;  // outlives the ring
  deadline_ring ring;
};

class wait_service {
 public:
  // Builds the executor of `kind` in place; called once, before anything else. `ring` is there for
  // io-uring. `on_thread` is called first on each of its threads.
  void open(executor_kind kind, shared_node& decisions, const reactor_parts& parts,
            std::optional<ring_parts> ring, size_t naive_workers,
            const std::function<void()>& on_thread);

  void start(const wait_start& what, const std::shared_ptr<session_link>& link) {
    visit([&](auto& e) { e.start(what, link); });
  }
  void cancel(const wait_name& which) {
    visit([&](auto& e) { e.cancel(which); });
  }
  void answer(const probe_answer& what, size_t answers_max) {
    visit([&](auto& e) { e.answer(what, answers_max); });
  }
  // The session has a ring, which is its link's; before the client knows of it.
  void attach(session_id whom, const std::shared_ptr<session_link>& link) {
    visit([&](auto& e) {
      if constexpr (requires { e.attach(whom, link); }) e.attach(whom, link);
    });
  }
  // The session's ring is looked at soon.
  void look(session_id at) {
    visit([&](auto& e) {
      if constexpr (requires { e.look(at); }) e.look(at);
    });
  }
  void drop(session_id whom) {
    visit([&](auto& e) { e.drop(whom); });
  }
  // Where the times of waits are noted from now on; none: nowhere. The last that the executor has
  // to do with the one before is to let go of it.
  void trace(std::shared_ptr<wait_trace> to) {
    visit([&](auto& e) { e.trace(std::move(to)); });
  }
  // ---- Clients' sockets, where the executor carries them. It receives and sends from `adopt` to
  // `let_go`, which closes; or to `stop`, which gives them back.
  bool carries_sockets() {
    bool carries = false;
    visit([&](auto& e) {
      if constexpr (requires { e.carries_sockets(); }) carries = e.carries_sockets();
    });
    return carries;
  }
  void adopt(session_id whom, const std::shared_ptr<session_link>& link) {
    with_sockets([&](auto& e) { e.adopt(whom, link); });
  }
  void has_messages(session_id whom) {
    with_sockets([&](auto& e) { e.has_messages(whom); });
  }
  void let_go(session_id whom) {
    with_sockets([&](auto& e) { e.let_go(whom); });
  }
  void owner_died(session_id whom) {
    with_sockets([&](auto& e) { e.owner_died(whom); });
  }
  // It may carry effects out again.
  void resume() {
    with_sockets([](auto& e) { e.resume(); });
  }
  // Every thread of the executor shows that it turns, then one of them says `alive`. false: that
  // has not happened since the last question.
  bool ask_alive() {
    bool asked = false;
    visit([&](auto& e) { asked = e.ask_alive(); });
    return asked;
  }
  // After a batch of the above.
  void kick() {
    visit([](auto& e) { e.kick(); });
  }
  void stop() {
    visit([](auto& e) { e.stop(); });
  }
  reactor_counts counts() const;
  // How long after the look that saw a word its client was told, of some; empty where not known.
  duration_histogram told() {
    duration_histogram all;
    visit([&](auto& e) {
      if constexpr (requires { e.told(); }) all = e.told();
    });
    return all;
  }

 private:
  using doorbell_reactor = reactor_thread<idle_doorbell<requests_waiting>>;
  using ring_reactor = reactor_thread<idle_ring<requests_waiting>>;

  template <class Do>
  void visit(Do&& act) {
    std::visit(
        [&](auto& e) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(e)>, std::monostate>) act(e);
        },
        executor_);
  }

  template <class Do>
  void with_sockets(Do&& act) {
    visit([&](auto& e) {
      if constexpr (requires { e.carries_sockets(); }) act(e);
    });
  }

  std::variant<std::monostate, doorbell_reactor, ring_reactor, naive_pool> executor_;
};

}  // namespace gar
