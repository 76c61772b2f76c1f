// Questions: what clients and operators ask, answered a step at a time, users in turn.
//
// Answers are made on the thread that also greets clients. Made whole, in the order asked, a few
// connections that ask for long lists would hold up everybody's handshake. So one step is made, of
// one user's oldest question, then the thread does what else there is; and a user whose questions
// took more than its share rests.
//
//   ask -> waiting, behind the user's earlier ones -> begun -> step ... step -> done(text)
//     `------------------------------ forget ----------------------------------> nothing
//
// Invariants: one answer of a user is in the making at a time; a user's answers come in the order
// of its questions; between two steps the io context runs whatever else is ready; no step is made
// of a user that rests. Operators are a user of their own, without a share.
// Threads: the io context's. Blocking: a step takes as long as it takes. Ownership: what was asked,
// until it is done or forgotten. Errors: none.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "daemon/stepwise_answer.hpp"
#include "lib/core/cpu_share.hpp"
#include "lib/linux/steady_clock.hpp"

namespace gar {

class questions {
 public:
  using begin_function = std::function<stepwise_answer()>;
  using done_function = std::function<void(std::string text)>;
  using ticket = uint64_t;

  // Beside the uids.
  static constexpr uint64_t operators = UINT64_MAX;
  static constexpr uint64_t strangers = UINT64_MAX - 1;  // whoever comes by a port, together

  explicit questions(boost::asio::io_context& io) : io_(&io), rest_(io) {}

  // `begin` is the first step; neither function is called before this returns.
  ticket ask(uint64_t user, begin_function begin, done_function done);
  // It is not answered any more. One that is done is not known.
  void forget(uint64_t user, ticket which);

 private:
  struct question {
    ticket number;
    begin_function begin;
    done_function done;
    std::optional<stepwise_answer> answer;
  };
  struct asker {
    std::deque<question> waiting;
    cpu_share share;
  };

  void next_turn();
  void turn();
  void rest_until(instant at);
  bool step(question& of);
  void end_first_of(uint64_t user);
  std::optional<uint64_t> whose_turn(instant now, instant& else_at);
  void forget_resting(instant now);

  boost::asio::io_context* io_;
  boost::asio::steady_timer rest_;
  steady_clock clock_;
  std::unordered_map<uint64_t, asker> askers_;  // who waits, or still rests
  std::deque<uint64_t> turns_;                  // who waits, the next one first
  bool turning_ = false;                        // a turn is to come
  ticket last_ = 0;
};

}  // namespace gar
