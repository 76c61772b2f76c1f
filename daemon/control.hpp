// Control: answers one control request, whoever asked and by which socket.
//
// The envelope is answer_json.hpp's, what is inside snapshot_json.hpp's.
//
// Invariants: an answer has no newline and at most proto::answer_bytes_max bytes. A request that is
// refused changed nothing. A read-only scope changes nothing and sees what its user owns; root's
// sees all.
// Errors: in the answer. Threads: the io thread. Blocking: `reload` reads the configuration file;
// no list is read or written whole in one step.
#pragma once

#include <string>
#include <string_view>

#include "daemon/engine.hpp"
#include "daemon/request_scope.hpp"

namespace gar {

// `config_file` is what a reload reads, looked at after it; empty: none.
// Begins the answer: the first step is done here, the others refer to `node`.
stepwise_answer answer_request(engine& node, std::string_view request, request_scope scope,
                               const std::string& config_file);

}  // namespace gar
