// Asking gard: which sockets are tried, in which order, and what came of it.
//
// Model: read-only questions go to the control socket first, then to the clients' socket; changes
// go to the control socket alone, and so does everything where a control socket was named.
//
//     path -> cannot connect: the next path
//          -> answered {"ok":true}: the result      {"ok":false}: the refusal
//          -> answered what is no answer: the next path
//          -> connected, then silent for the patience: that is gard, and it is stuck: the end
//
// Who must end in time says when: then no answer is waited for past that, but each for a moment,
// for a gard on a busy machine is no silent one.
//
// Errors: a `refusal` is gard's own error; `unreachable` names each path tried and why it failed.
// Threads: one at a time. Blocking: up to the patience for each path. Ownership: values.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lib/core/error.hpp"
#include "lib/core/time.hpp"
#include "lib/linux/socket_paths.hpp"

namespace gar {

// What gard answers where it does not do what was asked.
struct refusal {
  uint16_t code = 0;
  std::string name;
  std::string text;
  std::string remedy;
  std::optional<uint64_t> position;  // of an InvalidPlan
  std::string fault;
};

struct attempt {
  std::string path;
  std::string why;
};

// Nobody answered.
struct unreachable {
  std::vector<attempt> attempts;
  bool silent = false;  // the last one connected and said nothing
};

using reply = std::variant<boost::json::value, refusal, unreachable>;

struct gard_link_options {
  std::optional<std::string> control;  // --control
  std::optional<std::string> socket;   // --socket
  duration patience = from_ms(2000);
};

class gard_link {
 public:
  // Takes the sockets' paths from the options and the environment. InvalidArgument for a path that
  // cannot be one.
  static result<gard_link> make(const gard_link_options& options);
  // From now on. The moment is never more than the patience.
  void end_at(instant end, duration moment = from_ms(500)) {
    end_ = end;
    moment_ = moment;
  }

  // Questions: "status", "caps", "clients", "streams", "points", "version", "plan_show",
  // "metrics".
  reply ask(std::string_view op) const;
  // The same with arguments. `answered_by`, where given, becomes the path whose answer this is.
  reply ask(const boost::json::object& request, std::string* answered_by = nullptr) const;
  // Requests that change something: `request` holds "op" and its arguments.
  reply change(const boost::json::object& request) const;
  // One of the two sockets alone: do both lead to the same gard?
  reply ask_control(std::string_view op) const;
  reply ask_as_client(std::string_view op, std::string* answered_by = nullptr) const;

 private:
  gard_link() = default;
  reply try_all(const std::vector<socket_candidate>& control,
                const std::vector<socket_candidate>& clients, const std::string& request,
                std::string* answered_by) const;
  duration patience_left() const;

  std::vector<socket_candidate> control_;
  std::vector<socket_candidate> clients_;
  bool control_named_ = false;
  duration patience_;
  instant end_ = instant::never();
  duration moment_;
};

// What an answer's text says; nullopt: it is no answer of gard's.
std::optional<reply> read_answer(const std::string& text);

// "PATH: why" on a line each.
std::string text_of(const unreachable& failed);

}  // namespace gar
