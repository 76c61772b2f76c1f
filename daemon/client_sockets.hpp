// Client sockets: where gard's clients come in, and where the node's effects become bytes.
//
// Everything here is carrying: frames to the node, its effects to sockets, pages and the executor.
// What is allowed and what it means, the node decides.
//
//   listener -> accepted -> node.connect -> reading <-> paused (its own messages wait to be read)
//                                              |`--> closed, by an effect of the node alone
//                                              `--> welcomed, under io-uring: the executor's
//
// Under the io-uring executor a client that was welcomed is received from and sent to by the
// executor's ring alone (socket_traffic.hpp); this thread keeps its place, and its process's end.
//
// Invariants: between two waits of the io thread every effect was carried out; ended waits are
// reported before each frame that is read; a client whose messages wait unread is not read from, so
// that what it can make gard keep is bounded, and so are the answers that all of one user's do not
// read; nor is one whose question is being answered, in turn with others' (questions.hpp); running
// out of descriptors never makes gard spin.
// Threads: the io thread; make_page by who holds the node's lock, so `clients_` changes under it.
// Blocking: never. Ownership: node, executor and pages outlive it.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/log.hpp"
#include "daemon/questions.hpp"
#include "daemon/session_link.hpp"
#include "daemon/shared_node.hpp"
#include "daemon/wait_service.hpp"
#include "lib/core/line_pace.hpp"
#include "lib/core/node.hpp"
#include "lib/linux/descriptor_reserve.hpp"
#include "lib/linux/doorbell.hpp"
#include "lib/linux/state_page.hpp"
#include "lib/linux/steady_clock.hpp"
#include "lib/linux/unix_socket.hpp"

namespace gar {

class client_sockets {
 public:
  struct wiring {
    shared_node* node;
    wait_service* waits;
    const gar::doorbell* bell;
    const state_page_owner* state;
    questions* asked;
    descriptor_reserve reserve;  // of which no client gets one
    // Answers one read-only request of this uid: JSON in, JSON out.
    std::function<stepwise_answer(std::string_view json, uint32_t uid)> answer;
    std::function<result<std::optional<unique_fd>>(int listener)> accept = accept_from;
  };

  client_sockets(boost::asio::io_context& io, wiring to);
  ~client_sockets();

  void accept_on(unique_fd listener);
  // Nobody new gets in.
  void stop_accepting();

  // The node's make_page and make_ring.
  result<lines_view> make_page(session_id of);
  result<uint32_t> make_ring(session_id of, uint32_t entries);

  // How long after the look that saw a word this client was told; empty where nothing is known.
  duration_histogram told(session_id who) const;

  // Carries out what the node wants; after each call into the node that others make.
  void carry_out();
  // The executor has ended, and given back the sockets that it carried.
  void take_back();
  // Sends what still waits, to `until` at the latest. Blocks: for the end alone.
  void send_rest(instant until);

 private:
  struct client {
    uint32_t uid;
    std::shared_ptr<session_link> link;
    boost::asio::posix::stream_descriptor socket;
    std::optional<boost::asio::posix::stream_descriptor> process;  // readable when it died
    bool reading = false;
    bool writing = false;
    bool by_ring = false;  // the executor receives and sends
    std::vector<questions::ticket> asked = {};
  };

  void wait_to_accept();
  void accept_some();
  void accept_one(unique_fd socket);
  void say_turned_away(const peer& who, const std::string& why);
  void refuse_connection(int fd, const peer& who, const error& why);
  void link_up(session_id id, const peer& who, unique_fd socket,
               boost::asio::posix::stream_descriptor watched);
  void watch_process(session_id id, result<unique_fd> process);
  std::shared_ptr<user_unread> unread_of(uint32_t uid, size_t bytes_max);
  bool turn_away_one(const error& why);
  void accept_later();
  void count_turned_away(const error& why);
  bool may_complain();
  void log_about(uint32_t uid, log_level level, const std::string& text);
  void read_from(session_id id);
  void read_some(session_id id);
  bool read_one(session_id id);
  void blocked(session_id id);
  void write_to(session_id id);
  void process_ended(session_id id);  // the client's, whoever else holds its socket
  void carry_effects();
  void give_away(session_id id, client& c);
  void has_messages(session_id id, client& c);
  void set_timer();
  void answer_sent(session_id to);
  void look_at_canary();
  result<void> may_ask(uint32_t uid);
  void refuse_ask(session_id to, uint64_t cookie, const error& why);
  void answer(session_id to, uint64_t cookie, const std::string& json);
  void has_answered(session_id to, client& c);

  void carry(effect::send& e);
  void carry(effect::close& e);
  void carry(effect::start_wait& e);
  void carry(effect::cancel_wait& e);
  void carry(effect::answer_probe& e);
  void carry(effect::drop_waits& e);
  void carry(effect::answer_ask& e);
  void carry(effect::log& e);
  void carry(effect::look& e);

  boost::asio::io_context* io_;
  wiring to_;
  steady_clock clock_;
  std::optional<boost::asio::posix::stream_descriptor> listener_;
  boost::asio::steady_timer accept_again_;
  unique_fd spare_;           // given up to turn somebody away when descriptors run out
  uint64_t turned_away_ = 0;  // since that was last said
  instant complain_at_;
  boost::asio::steady_timer timer_;
  instant timer_at_ = instant::never();
  std::unordered_map<session_id, client> clients_;
  std::unordered_map<uint32_t, std::weak_ptr<user_unread>> unread_;  // by uid
  std::unordered_map<uint32_t, line_pace> paces_;                    // by uid
  std::vector<uint32_t> free_flags_;  // request flags that were in use
  uint32_t flags_used_ = 0;           // how many ever were
  std::array<std::byte, proto::frame_bytes_max> frame_;
};

}  // namespace gar
