// Session link: one client's socket and pages, shared by the threads that send to it.
//
// The thread that finds a completion sends it at once; a client that does not read must not hold it
// up. What does not fit into the socket waits here, in order, and the io thread sends it when there
// is room. A client that leaves more unread than allowed is slow, and is dropped.
//
//   open, nothing unsent -> unsent (the io thread was told) -> open ...
//        `--> broken: too slow, or refused by the kernel (nothing is kept any more) --> closed
//
// Under the io-uring executor one thread alone sends, by its ring, from when the client was
// welcomed (leave_to_ring) to when the ring ends: then every `send` only keeps, in order, whoever
// calls, and the ring's thread takes one message after the other.
//
// Invariants: messages leave in the order of their `send`, whichever thread calls. Of what a client
// makes gard send never more than `unread_max` bytes wait; what gard bounds by itself, published
// plans and one answer to an ask, does not count there and has a maximum of its own. Whatever they
// are, no user's clients leave more than a user may: who goes beyond that is dropped.
// Threads: send by any; what is the ring's by its thread; the rest by the io thread. Blocking:
// never but for the lock. Ownership: the descriptor and the pages live until the last holder lets
// go, so that words are readable while a wait on them is left.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "daemon/duration_counts.hpp"
#include "lib/core/delegated.hpp"
#include "lib/linux/lines_page.hpp"
#include "lib/linux/ring_page.hpp"
#include "lib/linux/unique_fd.hpp"

namespace gar {

// What all of one user's clients have not read, messages of every kind.
struct user_unread {
  explicit user_unread(uint32_t of) : uid(of) {}
  const uint32_t uid;
  std::atomic<size_t> bytes = 0;
  std::atomic<size_t> bytes_max = SIZE_MAX;
};

class session_link {
 public:
  // `blocked` is called, by the sending thread, when messages begin to wait or the link breaks.
  session_link(unique_fd socket, size_t unread_max, std::function<void()> blocked,
               std::shared_ptr<user_unread> of_user)
      : socket_(std::move(socket)),
        unread_max_(unread_max),
        blocked_(std::move(blocked)),
        of_user_(std::move(of_user)) {}
  ~session_link() { of_user_->bytes -= unsent_bytes_ + uncounted_bytes_; }
  session_link(const session_link&) = delete;
  session_link& operator=(const session_link&) = delete;

  int fd() const { return socket_.get(); }

  // Descriptors must stay open as long as the link lives.
  void send(std::vector<std::byte> frame, std::span<const int> descriptors = {});
  // A published plan, or a frame of an answer: does not count as unread. The io thread reads
  // nothing more from the client until they are sent.
  void send_uncounted(std::vector<std::byte> frame);
  // Why nothing can be sent any more, where the peer's end of the connection does not tell.
  std::optional<error> broken();

  // An answer to this client is in the making: until it was made and sent, messages count as
  // unsent, so that no further request is received.
  void begin_answer();
  void end_answer();

  // Sends what waits; true when nothing is left.
  bool send_unsent();
  bool has_unsent();

  // ---- With a ring.
  struct message {
    std::vector<std::byte> frame;
    std::vector<int> descriptors;
    bool counted = true;
  };
  void leave_to_ring();
  // The next message that waits; it counts as unread until it is `sent`.
  std::optional<message> take_next();
  void sent(const message& m);
  // The kernel took it not: `failed` is why.
  void not_sent(const error& failed);
  // Breaks the link where more waits than a client may leave unread: asked after the kernel was
  // offered what it takes.
  void break_if_slow();
  // true for the one of many callers who tells the ring's thread that messages wait.
  bool tell_ring() { return !ring_told_.exchange(true); }
  void ring_was_told() { ring_told_ = false; }
  // The ring has ended, with this message not sent; the link is as it was before.
  void take_back(std::optional<message> m);

  // Nothing is sent any more; the peer reads the end after what it was sent.
  void close();

  std::vector<lines_page>& pages() { return pages_; }
  // The client's ring and its request flag, where it was given one: set before it is told.
  struct client_notification {
    ring_page page;
    uint32_t flag;
  };
  std::optional<client_notification>& ring() { return ring_; }
  // How long after the look that saw a word the client was told, of some of its waits: the
  // executor's thread adds.
  duration_counts& told() { return told_; }

 private:
  // With the lock held: true when the message is done with.
  bool try_send(const message& m);
  void send_or_keep(message m);
  void keep(message m);
  void break_with(error why);
  void failed_to_send(const error& why);
  std::optional<error> too_much(bool counted) const;
  // Bytes that begin and cease to wait.
  void add(const message& m);
  void remove(const message& m);
  void remove_all();

  unique_fd socket_;
  size_t unread_max_;
  std::function<void()> blocked_;
  std::shared_ptr<user_unread> of_user_;
  std::mutex lock_;
  std::deque<message> unsent_;
  size_t unsent_bytes_ = 0;     // of those that count
  size_t uncounted_bytes_ = 0;  // of the others
  size_t taken_bytes_ = 0;      // of either kind, that the ring has
  size_t answers_begun_ = 0;
  bool by_ring_ = false;
  std::atomic<bool> ring_told_ = false;
  bool closed_ = false;
  std::optional<error> broken_;
  std::vector<lines_page> pages_;
  std::optional<client_notification> ring_;
  duration_counts told_;
};

}  // namespace gar
