// Effects: what the node wants done, in order, by whoever owns sockets and threads.
//
// The node decides and never acts: each call leaves a list of effects, which the caller carries out
// in their order before the next call (the simulator and gard's io thread do the same).
//
// Threads: values. Errors: an effect that cannot be carried out (the peer is gone) is reported by a
// later `disconnect` and by nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "lib/core/codec.hpp"
#include "lib/core/delegated.hpp"

namespace gar::effect {

// Which descriptors go with a message, in this order.
enum class with : uint8_t {
  nothing,
  welcome_pages,  // the session's first lines page, the doorbell, the state page; its ring, if any
  lines_page,     // the session's newest lines page
};

struct send {
  session_id to = 0;
  proto::message what;
  with descriptors = with::nothing;
};

// The session is gone for the node. What was sent before still goes out.
struct close {
  session_id whom = 0;
};

struct start_wait {
  wait_start what;
};
struct cancel_wait {
  wait_name which;
};
// The reactor looks at this session's ring soon, whatever its flag says: the client asks for it by
// a message, where it could not wake the reactor.
struct look {
  session_id at = 0;
};
// Something the owner answered; late, doubled and made-up answers are among them.
struct answer_probe {
  probe_answer what;
};
// Forget all waits of a session, without completions.
struct drop_waits {
  session_id of = 0;
};

// Answer a read-only control request; goes back as `answer` messages.
struct answer_ask {
  session_id to = 0;
  uint32_t uid = 0;
  uint64_t cookie = 0;
  std::string json;
};

// One line for the log, about what a user did.
struct log {
  enum class level : uint8_t { debug, info, warning };
  level how = level::info;
  uint32_t uid = 0;
  std::string text;
};

using any = std::variant<send, close, start_wait, cancel_wait, answer_probe, drop_waits, answer_ask,
                         log, look>;

}  // namespace gar::effect
