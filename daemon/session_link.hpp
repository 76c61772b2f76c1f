// Session link: one client's socket and pages, shared by the threads that send to it.
//
// The thread that finds a completion sends it at once; a client that does not read must not hold it
// up. What does not fit into the socket waits here, in order, and the io thread sends it when there
// is room. A client that leaves more unread than allowed is slow, and is dropped.
//
//   open, nothing unsent -> unsent (the io thread was told) -> open ...
//        `--> broken: too slow, or refused by the kernel (nothing is kept any more) --> closed
//
// Invariants: messages leave in the order of their `send`, whichever thread calls. Of what a client
// makes gard send never more than `unread_max` bytes wait; what gard bounds by itself, published
// plans and one answer to an ask, does not count there and has a maximum of its own.
// Threads: send by any; the rest by the io thread. Blocking: never but for the lock.
// Ownership: the descriptor and the pages live until the last holder lets go, so that words are
// readable while a wait on them is left.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "lib/core/delegated.hpp"
#include "lib/linux/lines_page.hpp"
#include "lib/linux/ring_page.hpp"
#include "lib/linux/unique_fd.hpp"

namespace gar {

class session_link {
 public:
  // `blocked` is called, by the sending thread, when messages begin to wait or the link breaks.
  session_link(unique_fd socket, size_t unread_max, std::function<void()> blocked)
      : socket_(std::move(socket)), unread_max_(unread_max), blocked_(std::move(blocked)) {}

  int fd() const { return socket_.get(); }

  // Descriptors must stay open as long as the link lives.
  void send(std::vector<std::byte> frame, std::span<const int> descriptors = {});
  // A published plan, or a frame of an answer: does not count as unread. The io thread reads
  // nothing more from the client until they are sent.
  void send_uncounted(std::vector<std::byte> frame);
  // Why nothing can be sent any more, where the peer's end of the connection does not tell.
  std::optional<error> broken();

  // Of plans and answers that wait to be read.
  size_t uncounted_bytes();

  // Sends what waits; true when nothing is left.
  bool send_unsent();
  bool has_unsent();
  // Nothing is sent any more; the peer reads the end after what it was sent.
  void close();

  std::vector<lines_page>& pages() { return pages_; }
  // The client's ring and its request flag, where it was given one: set before it is told.
  struct client_notification {
    ring_page page;
    uint32_t flag;
  };
  std::optional<client_notification>& ring() { return ring_; }

 private:
  struct message {
    std::vector<std::byte> frame;
    std::vector<int> descriptors;
    bool counted = true;
  };
  // With the lock held: true when the message is done with.
  bool try_send(const message& m);
  void send_or_keep(message m);
  void keep(message m);
  void break_with(error why);

  unique_fd socket_;
  size_t unread_max_;
  std::function<void()> blocked_;
  std::mutex lock_;
  std::deque<message> unsent_;
  size_t unsent_bytes_ = 0;     // of those that count
  size_t uncounted_bytes_ = 0;  // of the others
  bool closed_ = false;
  std::optional<error> broken_;
  std::vector<lines_page> pages_;
  std::optional<client_notification> ring_;
};

}  // namespace gar
