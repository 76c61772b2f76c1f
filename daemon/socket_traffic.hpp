// Socket traffic: the clients' sockets as the io-uring executor's thread carries them, by the ring
// in which it sleeps.
//
//   adopt -> receiving <-> frame held -> taken (node.receive) -> receiving ...
//                 `--> paused: messages wait to be read; goes on when the last has left
//   let_go -> the rest is sent as far as the client takes it -> requests cancelled -> closed
//
// A turn submits all receives and sends that it prepared by one system call; where a client has
// several messages each takes one more.
//
// Invariants: for each socket one receive and one send are under way at most, so that messages
// leave in their order and a client that sends much has one frame taken a turn; a client with
// messages unread is not read from; a socket is closed, and what the kernel may write to is freed,
// only after both have ended.
// Threads: the executor's. Blocking: never; give_back waits for cancelled requests. Ownership:
// holds each link until it is closed or given back.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "daemon/session_link.hpp"
#include "lib/core/node.hpp"
#include "lib/linux/socket_ring.hpp"

namespace gar {

class socket_traffic {
 public:
  explicit socket_traffic(socket_ring sockets) : sockets_(std::move(sockets)) {}
  socket_traffic(const socket_traffic&) = delete;
  socket_traffic& operator=(const socket_traffic&) = delete;

  void adopt(session_id whom, std::shared_ptr<session_link> link);
  // nullptr where it is not carried here, or was let go.
  const std::shared_ptr<session_link>* link_of(session_id whom) const;
  // Its link has messages.
  void has_messages(session_id whom);
  // What it was sent still goes out, as far as it fits now.
  void let_go(session_id whom);
  // What it sent is still taken, then it is disconnected.
  void owner_died(session_id whom);

  // Takes in what has ended in the ring.
  // true: there was some.
  bool take_ended(deadline_ring& ring);
  // Frames wait to be taken.
  bool has_frames() const { return !frames_.empty(); }
  // Tells the node of the first.
  void take_frame(node& decisions, instant now);
  // Prepares and submits. With `receive`, sockets that may be are received from. true: there is
  // more to do now.
  bool submit(deadline_ring& ring, bool receive);

  // Every socket to its link, whose owner sends and receives by itself again.
  void give_back(deadline_ring& ring);

 private:
  struct carried {
    session_id whom;
    std::shared_ptr<session_link> link;
    socket_ring::incoming in{};
    socket_ring::outgoing out{};
    std::optional<session_link::message> under_way;  // what the ring sends
    bool receiving = false;
    bool sending = false;
    bool held = false;   // its frame is among frames_
    bool ended = false;  // nothing is received any more
    bool listed_receive = false;
    bool listed_send = false;
    bool letting_go = false;
    bool tried = false;  // while let go: what it was sent was offered to the kernel
    bool receive_cancelled = false;
    bool send_cancelled = false;
    size_t frames_left = 0;  // of one whose owner died; 0: it lives
  };
  // What a request is of.
  enum class kind : uint64_t { receive, send, cancel };
  struct frame {
    carried* from;
    deadline_ring::ended_request end;
    bool disconnects = false;
  };
  static uint64_t name(const carried& c, kind k) { return c.whom << 2 | static_cast<uint64_t>(k); }

  carried* find(session_id whom) const;
  void list_receive(carried& c);
  void list_send(carried& c);
  void received(carried& c, const deadline_ring::ended_request& e);
  void sent(carried& c, const deadline_ring::ended_request& e);
  void hold(carried& c, const deadline_ring::ended_request& e, bool disconnects);
  void prepare_receives(deadline_ring& ring);
  void prepare_sends(deadline_ring& ring);
  bool prepare_ends(deadline_ring& ring);
  bool cancel(deadline_ring& ring, carried& c, kind of);

  socket_ring sockets_;
  std::unordered_map<session_id, std::unique_ptr<carried>> all_;
  std::deque<frame> frames_;
  std::vector<carried*> to_receive_;
  std::vector<carried*> to_send_;
  std::vector<carried*> listed_;  // being worked through
  std::vector<carried*> letting_go_;
  std::vector<carried*> offered_;  // their messages, in this turn
};

}  // namespace gar
