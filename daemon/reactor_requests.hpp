// Reactor requests: what the io thread hands over to the reactor's thread, one struct each.
//
// Threads: values, made by one thread and taken by the other. Ownership: a link that is named lives
// as long as the request.
#pragma once

#include <memory>
#include <variant>

#include "daemon/session_link.hpp"
#include "lib/core/delegated.hpp"
#include "lib/core/wait_trace.hpp"

namespace gar {

struct start_request {
  wait_start what;
  std::shared_ptr<session_link> link;
};
struct cancel_request {
  wait_name which;
};
struct drop_request {
  session_id whom;
};
struct attach_request {
  session_id whom;
  std::shared_ptr<session_link> link;
};
struct adopt_request {
  session_id whom;
  std::shared_ptr<session_link> link;
};
struct messages_request {
  session_id whom;
};
struct let_go_request {
  session_id whom;
};
struct died_request {
  session_id whom;
};
struct look_request {
  session_id at;
};
struct trace_request {
  std::shared_ptr<wait_trace> to;
};
struct resume_request {};
struct alive_request {};
struct stop_request {};
using reactor_request =
    std::variant<start_request, cancel_request, probe_answer, drop_request, attach_request,
                 adopt_request, messages_request, let_go_request, died_request, look_request,
                 trace_request, resume_request, alive_request, stop_request>;

}  // namespace gar
