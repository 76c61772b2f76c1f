// Link: one connection to one gard, from its welcome to its loss.
//
//   alive --the socket ended, broke, or said what cannot be--> lost (for good)
//
// Everybody sends; only the service thread receives, and it is the only one who makes a link lost.
// What is asked of gard (an open) waits in `requests_`, a delegated wait in `pending_`, where it
// stays as an orphan until gard has ended it too; both end when the link is lost.
//
// Waits go through the ring where gard gave one, and their ends come back there: see
// ring_waits.hpp. Everything else, and all of it where there is no ring, is messages.
//
// Invariants: no send blocks: a gard that does not read is a gard that is not there. A point's name
// is sent before the first wait that uses its number. A wait is pending only if it was sent,
// whatever is thrown meanwhile. A cancel or a close that cannot be sent at once is a mark on what
// it is about, and the service thread sends it: no want of room or memory loses one. After the loss
// nothing is sent, and no wait is registered.
//
// Threads: as named. Lock order: send_lock_, then pending_lock_; the ring's is taken within either.
//
// Ownership: bindings hold the link, so that the doorbell stays mapped while a device may ring it.
//
// Errors: MalformedMessage and OutOfState for frames that cannot be; the link is lost then.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "clients/garclient/mailbox.hpp"
#include "clients/garclient/ring_waits.hpp"
#include "clients/garclient/wait_order.hpp"
#include "clients/garclient/word_page.hpp"
#include "lib/core/codec.hpp"
#include "lib/core/outcome_box.hpp"
#include "lib/core/owner_wait.hpp"
#include "lib/core/point_numbers.hpp"
#include "lib/linux/doorbell.hpp"
#include "lib/linux/state_page.hpp"
#include "lib/linux/unix_socket.hpp"

namespace gar::owner {

class stream;

class link {
 public:
  // Of one client, so that no more answers wait to be sent: gard asks about each once at a time.
  static constexpr size_t streams_max = 8192;

  struct parts {
    unique_fd socket;
    proto::welcome welcome;
    std::shared_ptr<word_page> first_page;
    doorbell bell;
    state_page_view state;
    std::optional<ring_client> ring;
  };
  explicit link(parts p);
  // What the link needs of its client.
  struct service {
    // The service thread serves this link by then.
    std::function<void(instant)> need_by;
    step_function step;
  };
  // Before anybody else has the link.
  void serve_by(service s) { service_ = std::move(s); }

  int fd() const { return socket_.get(); }
  uint64_t client_id() const { return welcome_.client_id; }
  bool alive() const { return alive_.load(std::memory_order_acquire) && !broken(); }
  // The ring said what cannot be; the service thread makes the link lost.
  bool broken() const { return ring_ && ring_->broken(); }

  // gard let a wait pass its owner's backstop, or an open its caller's patience, and has said
  // nothing since.
  bool silent() const { return silent_.load(std::memory_order_relaxed); }
  void found_silent() { silent_.store(true, std::memory_order_relaxed); }
  // As !silent(), after a look at what it may have said in the ring.
  bool speaks();

  void ring_bell(uint32_t stream_id, uint64_t sequence) const {
    bell_.ring(client_id(), stream_id, sequence);
  }
  const doorbell& bell() const { return bell_; }
  size_t bell_offset_bytes() const { return proto::bell_index(client_id()) * sizeof(uint64_t); }

  // ---- Streams.
  using opened_answer = result<proto::opened>;
  using on_opened = std::function<void(opened_answer)>;
  // `then` is called once: on the service thread, or here when the link is lost already.
  void open(uint64_t base, bool word_authority, std::string_view name, on_opened then);
  // The owner has settled the stream, and gard's probes of it are not answered any more. Sent once
  // gard has ended the stream's last wait. Throws nothing.
  void close(uint32_t stream_id, uint32_t generation, uint64_t last_sequence) noexcept;
  // Where an opened stream's word is. MalformedMessage when there is no such place.
  struct place {
    std::shared_ptr<word_page> page;
    size_t word_index;
  };
  result<place> place_of(const proto::opened& o) const;
  // Probes for the stream are answered from it.
  void know(uint32_t stream_id, uint32_t generation, std::weak_ptr<stream> s);
  std::shared_ptr<stream> find(uint32_t stream_id, uint32_t generation) const;

  // ---- Delegated waits.
  // Fills in the cookie. Otherwise why not; the wait is not pending then.
  std::optional<errc> register_wait(mailbox& box, proto::wait asked, std::string_view point);
  // Reads the news. `confirmed`: the owner knows that the target is done.
  void collect(mailbox& box, owner_wait& into, bool confirmed);
  // On the thread that waits: until there is news behind `seen`, or `until`. Looks for `look`
  // before it sleeps, where looking can see something.
  void await_news(mailbox& box, uint32_t seen, instant until, duration look);
  // Takes what is in the ring, and steps the asynchronous waits that it is about.
  void take_ring();
  // As take_ring, by the program or for it. What the pipe is to it:
  enum class pipe_use : uint8_t {
    none,
    emptied,  // the program polls it; from then on the next end makes it readable
    watched,  // the same, and it is to be emptied first
  };
  void take_for_program(pipe_use pipe);
  int pipe_fd() const { return ring_ ? ring_->pipe_fd() : -1; }
  // Room for another wait, if taking what is there can make it.
  void make_room();
  // The wait is over here; at gard too where `cancel` says so.
  void forget(mailbox& box, bool cancel) noexcept;

  // ---- What is sent later: outcomes, and what the socket had no room for.
  // Says when the outcome must be sent.
  instant add_outcome(const proto::outcome_entry& entry, std::string_view point, instant now,
                      booking how);
  // When send_due has something to do: to send, or to see whether gard took what it was asked.
  instant sends_due() const;
  void send_due(instant now);
  void send_last_outcomes() noexcept;

  // ---- The service thread.
  using publish_function = std::function<result<void>(const proto::plan_scope&)>;
  // Takes what lies in the socket, a turn's worth, in order: a plan is published before the refusal
  // behind it is told. Gives the probes, which are the client's to answer.
  result<std::vector<proto::probe_entry>> receive(const publish_function& publish);
  // Each answer is sent, at once or later: gard asks nothing more about a stream before it came.
  void answer(const std::vector<proto::status_entry>& statuses, instant now);
  void heard_about(const std::vector<proto::status_entry>& pending, instant now);
  void lose() noexcept;
  void say_bye() noexcept;

 private:
  // How soon it is tried again to send what the socket had no room for.
  static constexpr duration again_pause = from_ms(10);
  static error lost_link() noexcept;

  // ---- What comes (link_receive.cpp).
  result<void> take(const proto::message& m, reception& with, const publish_function& publish,
                    std::vector<proto::probe_entry>& probes);
  result<void> take_page(const proto::page& m, reception& with);
  result<void> take_opened(const proto::opened& m);
  void take_refusal(const proto::refusal& m);
  void take_completions(const proto::completions& m);
  void give_news(mailbox& box);  // pending_lock_ held; service thread
  // pending_lock_ held; null: nobody waits for it.
  mailbox* take_pending(uint64_t cookie);

  // ---- Streams and waits.
  struct asked_wait {
    mailbox* box = nullptr;  // null: an orphan, over here and not yet at gard
    uint32_t stream_id = 0;
    bool cancel_due = false;
  };
  // From gard's answer until its close is on its way.
  struct opened_stream {
    std::weak_ptr<stream> known;         // who answers its probes
    std::optional<uint64_t> last_of_it;  // it is closed here: gard is to be told, once it may be
  };
  static uint64_t stream_key(uint32_t id, uint32_t generation) {
    return (uint64_t{generation} << 32) | id;
  }
  static std::pair<uint32_t, uint32_t> stream_of(uint64_t key) {
    return {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)};
  }
  bool has_orphans(uint32_t stream_id) const;  // pending_lock_ held
  bool adopt(uint64_t cookie);                 // pending_lock_ held; true: a close may be due
  void after_taking(const ring_waits::taken& what);
  void again_by(instant now);
  void serve_ring(instant now);
  // What gard's reactor was found doing, and what that asks of who just put something into the
  // ring.
  enum class asked : uint8_t {
    awake,       // it looks by itself
    woken,       // somebody was woken, and that may have been another sleeper on the same word
    by_message,  // nothing but a `kick` reaches it
  };
  asked ask_gard();
  asked notify_gard();
  void kick();
  // Of a wait's thread, before it sleeps: until when, at most.
  instant must_be_taken_by(mailbox& box);
  // Of those who leave: the service thread looks.
  void see_it_taken(asked found);
  void kick_if_not_taken(instant now);  // send_lock_ held
  std::optional<errc> submit(mailbox& box, const proto::wait& asked, std::string_view point);
  void cancel_pending(uint64_t cookie);
  bool send_cancel(uint64_t cookie, asked_wait& wait);     // both locks held
  bool send_close(uint64_t key, const opened_stream& of);  // both locks held
  void send_closes();                                      // both locks held
  void send_ready_closes();
  void send_marked();                           // send_lock_ held
  void send_later(instant now);                 // send_lock_ held
  bool send(const proto::message& m) noexcept;  // send_lock_ held
  template <class Message, class Entry>
  bool send_entries(std::span<const Entry> entries) noexcept;                   // send_lock_ held
  bool send_outcomes() noexcept;                                                // send_lock_ held
  bool send_outcomes_by_socket() noexcept;                                      // send_lock_ held
  void send_answers(instant now) noexcept;                                      // send_lock_ held
  uint32_t point_number(std::string_view point, bool& sent);                    // send_lock_ held
  bool send_point(const point_numbers::answer& known, std::string_view point);  // send_lock_ held
  bool send_wait(proto::wait asked, std::string_view point);
  void withdraw(mailbox& box);

  const proto::welcome welcome_;
  const doorbell bell_;
  const state_page_view state_;
  const uint32_t request_flag_;

  service service_{[](instant) {}, [](async_wait&) {}};
  std::optional<ring_waits> ring_;

  std::atomic<uint64_t> asked_{0};  // through the ring, to tell one ring of the bell from another

  std::atomic<bool> alive_{true};
  std::atomic<bool> silent_{false};

  mutable std::mutex send_lock_;
  unique_fd socket_;
  point_numbers points_;
  outcome_box outcomes_;
  std::vector<proto::status_entry> answers_;  // not sent yet; at most one a stream
  instant again_due_ = instant::never();      // of answers, cancels and closes

  std::atomic<uint64_t> taken_due_ns_{instant::never().ns};  // when what was asked must be taken

  mutable std::mutex pending_lock_;
  uint64_t next_cookie_ = 1;
  std::unordered_map<uint64_t, asked_wait> pending_;  // by cookie
  size_t cancels_due_ = 0;                            // of them
  std::unordered_map<uint64_t, on_opened> requests_;
  std::vector<std::shared_ptr<word_page>> pages_;
  std::unordered_map<uint64_t, opened_stream> streams_;  // by key
  size_t closes_due_ = 0;                                // of them
  news_batch news_;                                      // the service thread's own
};

}  // namespace gar::owner
