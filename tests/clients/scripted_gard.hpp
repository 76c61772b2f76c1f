// A gard that does what a test tells it to: the protocol's other end, silent, lying or dying on
// request. Left alone it behaves: it watches the words of the waits it was given and completes
// them.
//
// Threads: one of its own serves every connection; the test's thread tells it what to do and looks
// at what came. Ended with the object, or by die().
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lib/core/codec.hpp"
#include "lib/core/descriptor.hpp"
#include "lib/linux/doorbell.hpp"
#include "lib/linux/lines_page.hpp"
#include "lib/linux/state_page.hpp"
#include "lib/linux/unix_socket.hpp"
#include "tests/clients/ring_end.hpp"

namespace gar::test {

struct gard_script {
  std::string plan = "flag:park_us=100,backstop_us=10000";
  uint64_t generation = 5;
  uint16_t version = 1;
  bool answers_hello = true;
  bool completes = true;                   // watches words
  bool answers_opens = true;               // else when answer_opens() says so
  errc refuses_open{};                     // every open, with this
  errc refuses_waits{};                    // every wait, with this
  uint64_t base_ahead = 0;                 // of every open's answer
  std::vector<std::byte> welcome_instead;  // sent in place of the welcome
  std::chrono::milliseconds deaf{0};       // reads nothing so long after its welcome
  uint32_t ring_entries = 0;               // 0: gives no ring
  bool takes_outcomes = true;              // out of the ring
  bool takes_when_kicked = false;          // looks at the ring once for each kick
  uint32_t state = proto::reactor_awake;   // what its state page says
  // Called for every wait before anything else; true: it is dealt with.
  std::function<bool(const proto::wait&)> on_wait;
};

class scripted_gard {
 public:
  scripted_gard(std::string path, gard_script script)
      : script_(std::move(script)),
        listener_(*listen_at(path, {.type = socket_type::seqpacket, .group = {}})),
        bell_(*doorbell::make()),
        state_(*state_page_owner::make()),
        thread_([this] {
          if (script_.state != proto::reactor_awake) state_.announce_sleep(script_.state);
          serve();
        }) {}
  ~scripted_gard() { die(); }

  // Ends as by kill -9.
  void die() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    connections_.clear();
    listener_.reset();
  }

  void send(const proto::message& m) { send_bytes(proto::encode(m)); }
  void send_bytes(const std::vector<std::byte>& bytes, std::vector<int> fds = {}) {
    std::lock_guard lock(mutex_);
    for (connection& c : connections_) (void)send_message(c.socket.get(), bytes, fds);
  }
  void complete(uint64_t cookie, errc code = {}, uint8_t confirmed = 0) {
    if (cookie & in_ring) {
      proto::ring_completion end{};
      end.kind = 3;
      end.parks = 4;
      end.code = static_cast<uint16_t>(code);
      end.confirmed = confirmed;
      with_ring([&](ring_end& ring) { ring.complete(static_cast<uint32_t>(cookie), end); });
      return;
    }
    proto::completion_entry e{};
    e.cookie = cookie;
    e.kind = 3;
    e.parks = 4;
    e.code = static_cast<uint16_t>(code);
    e.confirmed = confirmed;
    send(proto::completions{{e}});
  }
  void refuse_wait(uint64_t cookie, errc code) {
    if (cookie & in_ring) return complete(cookie, code);
    send(proto::refusal{cookie, static_cast<uint16_t>(code),
                        static_cast<uint16_t>(proto::message_type::wait), false, "as scripted"});
  }
  // Whatever a test wants to do to the last client's ring.
  void with_ring(const std::function<void(ring_end&)>& f) {
    std::lock_guard lock(mutex_);
    if (!connections_.empty() && connections_.back().ring) f(*connections_.back().ring);
  }
  void set_completes(bool on) {
    std::lock_guard lock(mutex_);
    script_.completes = on;
  }
  // Those that came, and from now on each.
  void answer_opens() {
    std::lock_guard lock(mutex_);
    script_.answers_opens = true;
    for (connection& c : connections_) {
      for (const proto::open& o : std::exchange(c.unanswered, {})) open(c, o);
    }
  }

  // What came, of one type; of waits each by itself.
  template <class M>
  std::vector<M> received() {
    std::lock_guard lock(mutex_);
    std::vector<M> of_type;
    for (const proto::message& m : log_) {
      if constexpr (std::is_same_v<M, proto::wait>) {
        const auto* several = std::get_if<proto::waits>(&m);
        if (several)
          of_type.insert(of_type.end(), several->entries.begin(), several->entries.end());
      } else if (const M* one = std::get_if<M>(&m)) {
        of_type.push_back(*one);
      }
    }
    return of_type;
  }
  // Waits until `count` of the type came.
  template <class M>
  std::vector<M> await(size_t count) {
    for (int i = 0; i < 5000; ++i) {
      std::vector<M> got = received<M>();
      if (got.size() >= count) return got;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ADD_FAILURE() << "only " << received<M>().size() << " of " << count << " messages came";
    std::vector<M> none(count);
    return none;
  }
  size_t connections() {
    std::lock_guard lock(mutex_);
    return connections_.size();
  }
  // The word that its reactor sleeps on.
  const uint32_t& state_word() const { return state_.word(); }
  // What the word of the n-th stream opened here says.
  uint64_t word(size_t stream) {
    std::lock_guard lock(mutex_);
    return proto::load_word(connections_.back().page.word(stream));
  }

 private:
  struct connection {
    unique_fd socket;
    lines_page page;
    uint32_t streams = 0;
    std::map<uint64_t, proto::wait> pending;
    std::vector<proto::open> unanswered;
    std::unique_ptr<ring_end> ring;
  };
  static constexpr uint64_t in_ring = uint64_t{1} << 63;

  void serve() {
    while (!stop_) {
      std::vector<pollfd> polled{{listener_.get(), POLLIN, 0}};
      {
        std::lock_guard lock(mutex_);
        for (connection& c : connections_) polled.push_back({c.socket.get(), POLLIN, 0});
      }
      ::poll(polled.data(), polled.size(), 1);
      accept_new();
      std::unique_lock lock(mutex_);
      for (auto c = connections_.begin(); c != connections_.end();) {
        if (read_all(*c, lock)) {
          if (c->ring && looks_at_rings()) read_ring(*c, lock);
          watch(*c);
          ++c;
        } else {
          c = connections_.erase(c);
        }
      }
    }
  }

  bool looks_at_rings() { return !script_.takes_when_kicked || std::exchange(kicked_, false); }

  void accept_new() {
    auto accepted = accept_from(listener_.get());
    if (!accepted || !*accepted) return;
    std::lock_guard lock(mutex_);
    connections_.push_back({std::move(**accepted), *lines_page::make(), 0, {}, {}, nullptr});
  }

  bool read_all(connection& c, std::unique_lock<std::mutex>& lock) {
    std::array<std::byte, proto::frame_bytes_max> buffer;
    for (;;) {
      auto got = receive_message(c.socket.get(), buffer);
      if (!got || got->got == reception::what::ended) return false;
      if (got->got == reception::what::nothing) return true;
      auto m = proto::decode({buffer.data(), got->bytes});
      EXPECT_TRUE(m) << "the library sent what cannot be";
      if (!m) return false;
      log_.push_back(*m);
      answer(c, *m, lock);
    }
  }

  void answer(connection& c, const proto::message& m, std::unique_lock<std::mutex>& lock) {
    if (std::get_if<proto::hello>(&m)) return welcome(c);
    if (const auto* o = std::get_if<proto::open>(&m)) return open(c, *o);
    if (const auto* x = std::get_if<proto::close>(&m)) return reply(c, proto::closed{x->cookie});
    if (const auto* x = std::get_if<proto::cancel>(&m)) return cancel(c, *x);
    if (std::get_if<proto::kick>(&m)) kicked_ = true;
    if (const auto* several = std::get_if<proto::waits>(&m)) {
      for (const proto::wait& w : several->entries) wait(c, w, lock);
    }
  }

  void wait(connection& c, const proto::wait& w, std::unique_lock<std::mutex>& lock) {
    const auto on_wait = script_.on_wait;
    if (on_wait) {
      lock.unlock();
      const bool dealt_with = on_wait(w);
      lock.lock();
      if (dealt_with) return;
    }
    if (script_.refuses_waits != errc{}) {
      return refuse(c, w.cookie, script_.refuses_waits, proto::message_type::wait);
    }
    c.pending.emplace(w.cookie, w);
  }

  void read_ring(connection& c, std::unique_lock<std::mutex>& lock) {
    while (const auto r = c.ring->take()) {
      const uint64_t cookie = in_ring | r->slot;
      if (r->op == proto::submit_cancel) {
        log_.push_back(proto::cancel{cookie});
        cancel(c, {cookie});
      } else if (r->op == proto::submit_point) {
        log_.push_back(proto::point{r->asked.point, r->name});
        c.ring->complete(r->slot, {});
      } else {
        const proto::wait w = wait_of(cookie, r->asked);
        log_.push_back(w);
        wait(c, w, lock);
      }
    }
    if (!script_.takes_outcomes) return;
    const auto outcomes = c.ring->take_outcomes();
    if (!outcomes.empty()) log_.push_back(proto::outcomes{outcomes});
  }
  static proto::wait wait_of(uint64_t cookie, const proto::ring_request& asked) {
    proto::wait w;
    w.cookie = cookie;
    w.target = asked.target;
    w.age_ns = asked.age_ns;
    w.timeout_ns = asked.timeout_ns;
    w.plan_generation = asked.plan_generation;
    w.stream = asked.stream;
    w.stream_generation = asked.stream_generation;
    w.point_number = asked.point;
    w.rows = asked.rows;
    return w;
  }

  void welcome(connection& c) {
    if (!script_.answers_hello) return;
    if (!script_.welcome_instead.empty()) {
      (void)send_message(c.socket.get(), script_.welcome_instead);
      return;
    }
    proto::welcome w;
    w.version = script_.version;
    w.plan_scopes = 1;
    w.client_id = 77;
    w.page_bytes = static_cast<uint32_t>(c.page.bytes());
    w.streams_max = 512;
    w.waits_max = 4096;
    w.pages_max = 1;
    w.plan_generation = script_.generation;
    w.word_wait = "software";
    w.executor = "naive";
    std::vector<int> fds{c.page.fd(), bell_.fd(), state_.fd()};
    if (script_.ring_entries > 0) {
      c.ring = std::make_unique<ring_end>(script_.ring_entries);
      w.features = proto::feature_ring;
      w.ring_entries = script_.ring_entries;
      fds.insert(fds.end(), {c.ring->memory(), c.ring->pipe()});
    }
    (void)send_message(c.socket.get(), proto::encode(w), fds);
    reply(c, proto::plan_scope{script_.generation, proto::scope_default, 0, 1, "", script_.plan});
    std::this_thread::sleep_for(script_.deaf);
  }

  void open(connection& c, const proto::open& o) {
    if (!script_.answers_opens) return c.unanswered.push_back(o);
    if (script_.refuses_open != errc{}) {
      return refuse(c, o.cookie, script_.refuses_open, proto::message_type::open);
    }
    const uint32_t at = c.streams++;
    reply(c, proto::opened{o.cookie, o.base + script_.base_ahead, at + 1, 1, 0,
                           static_cast<uint16_t>(at / 8), static_cast<uint16_t>(at % 8)});
  }

  void cancel(connection& c, const proto::cancel& x) {
    if (c.pending.erase(x.cookie) == 0) return;
    end(c, x.cookie, errc::Cancelled);
  }
  void end(connection& c, uint64_t cookie, errc code) {
    if (cookie & in_ring) {
      proto::ring_completion e{};
      e.code = static_cast<uint16_t>(code);
      c.ring->complete(static_cast<uint32_t>(cookie), e);
      return;
    }
    proto::completion_entry e{};
    e.cookie = cookie;
    e.code = static_cast<uint16_t>(code);
    reply(c, proto::completions{{e}});
  }

  void refuse(connection& c, uint64_t cookie, errc code, proto::message_type of) {
    if (cookie & in_ring) return end(c, cookie, code);
    reply(c, proto::refusal{cookie, static_cast<uint16_t>(code), static_cast<uint16_t>(of), false,
                            "as scripted"});
  }

  void watch(connection& c) {
    if (!script_.completes) return;
    proto::completions done;
    for (auto w = c.pending.begin(); w != c.pending.end();) {
      if (!reached(proto::load_word(c.page.word(w->second.stream - 1)), w->second.target)) {
        ++w;
        continue;
      }
      if (w->first & in_ring) {
        proto::ring_completion end{};
        end.kind = 3;
        end.parks = 9;
        c.ring->complete(static_cast<uint32_t>(w->first), end);
        w = c.pending.erase(w);
        continue;
      }
      proto::completion_entry e{};
      e.cookie = w->first;
      e.kind = 3;
      e.parks = 9;
      done.entries.push_back(e);
      w = c.pending.erase(w);
      if (done.entries.size() == proto::completion_entries_max) break;
    }
    if (!done.entries.empty()) reply(c, done);
  }

  void reply(connection& c, const proto::message& m) {
    (void)send_message(c.socket.get(), proto::encode(m));
  }

  std::mutex mutex_;
  gard_script script_;
  std::list<connection> connections_;
  std::vector<proto::message> log_;
  bool kicked_ = false;
  unique_fd listener_;
  doorbell bell_;
  state_page_owner state_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace gar::test
