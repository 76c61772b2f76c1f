// One control request to gard and its answer, over either of its sockets.
//
// A person's question is one line of JSON on the control socket (SOCK_STREAM), and one more there
// as the answer; the read-only ones are taken on the clients' socket too (SOCK_SEQPACKET), as an
// `ask` whose answer comes in as many frames as it takes. Whoever asks wants the same from both:
// the text of the answer, or why there is none.
//
// Invariants: the whole exchange ends by the deadline; an answer has answer_bytes_max at most.
// Threads: any; nothing is kept between calls. Blocking: up to the deadline.
// Errors: SystemCall (connect, send, receive), InvalidArgument (the path), HandshakeTimeout (no
// answer in time, as os_number ETIMEDOUT), Closed (the peer went without answering),
// MalformedMessage (an answer that breaks the protocol), and on the clients' socket what gard
// refused the frame with.
#pragma once

#include <string>
#include <string_view>

#include "lib/core/codec.hpp"
#include "lib/core/error.hpp"
#include "lib/core/time.hpp"

namespace gar {

// `request` is JSON without a newline; so is the answer.
result<std::string> request_by_line(const std::string& path, std::string_view request,
                                    duration patience);
result<std::string> request_by_ask(const std::string& path, std::string_view request,
                                   duration patience);

// One frame's part of an answer, put where it belongs. true: the answer is whole. What was refused
// leaves it as it was.
result<bool> add_answer_part(const proto::message& frame, std::string& answer);

}  // namespace gar
