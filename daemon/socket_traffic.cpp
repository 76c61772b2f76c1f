#include "daemon/socket_traffic.hpp"

#include <cerrno>
#include <utility>

#include "lib/linux/steady_clock.hpp"
#include "lib/linux/system_call.hpp"

namespace gar {
namespace {

// System calls of one turn; what is left then has the next.
constexpr int submits_per_turn = 64;
// More than a socket holds.
constexpr size_t frames_left_max = 1024;
// How long a turn of waiting for cancelled requests lasts; they end at once.
constexpr duration end_pause = from_ms(10);

}  // namespace

socket_traffic::carried* socket_traffic::find(session_id whom) const {
  const auto at = all_.find(whom);
  return at == all_.end() ? nullptr : at->second.get();
}

void socket_traffic::adopt(session_id whom, std::shared_ptr<session_link> link) {
  auto made = std::make_unique<carried>();
  made->whom = whom;
  made->link = std::move(link);
  carried& c = *made;
  all_.emplace(whom, std::move(made));
  list_receive(c);
  list_send(c);
}

const std::shared_ptr<session_link>* socket_traffic::link_of(session_id whom) const {
  const carried* c = find(whom);
  return c && !c->letting_go ? &c->link : nullptr;
}

void socket_traffic::has_messages(session_id whom) {
  if (carried* c = find(whom)) list_send(*c);
}

void socket_traffic::let_go(session_id whom) {
  carried* c = find(whom);
  if (!c || std::exchange(c->letting_go, true)) return;
  c->ended = true;
  letting_go_.push_back(c);
  list_send(*c);
}

void socket_traffic::owner_died(session_id whom) {
  carried* c = find(whom);
  if (!c || c->ended) return;
  c->frames_left = frames_left_max;
  // A receive that waits is cancelled: by then it has taken what there was.
  if (!c->receiving && !c->held) hold(*c, {}, true);
  list_receive(*c);
}

void socket_traffic::list_receive(carried& c) {
  if (std::exchange(c.listed_receive, true)) return;
  to_receive_.push_back(&c);
}

void socket_traffic::list_send(carried& c) {
  if (std::exchange(c.listed_send, true)) return;
  to_send_.push_back(&c);
}

// ---- what has ended

bool socket_traffic::take_ended(deadline_ring& ring) {
  const bool some = !ring.ended().empty();
  for (const deadline_ring::ended_request& e : ring.ended()) {
    carried* c = find(e.what >> 2);
    const auto of = static_cast<kind>(e.what & 3);
    if (of == kind::cancel) continue;  // that its request has ended is what counts
    GAR_ASSERT(c);
    if (of == kind::receive) received(*c, e);
    if (of == kind::send) sent(*c, e);
  }
  ring.ended().clear();
  return some;
}

void socket_traffic::received(carried& c, const deadline_ring::ended_request& e) {
  c.receiving = false;
  c.receive_cancelled = false;
  switch (-e.got) {
    case ECANCELED:
      if (c.frames_left == 0) break;
      [[fallthrough]];
    default:
      return hold(c, e, e.got < 0);
    // Told once, where the peer closed before it had read everything; what it sent lies behind.
    case ECONNRESET:
    case ENOBUFS:  // other sockets' frames have them all
    case EINTR:
    case EAGAIN:
    case ENOMEM:
      break;
  }
  sockets_.give_back(e);
  list_receive(c);
}

void socket_traffic::hold(carried& c, const deadline_ring::ended_request& e, bool disconnects) {
  c.held = true;
  frames_.push_back({&c, e, disconnects});
}

void socket_traffic::sent(carried& c, const deadline_ring::ended_request& e) {
  c.sending = false;
  if (e.got == -ECANCELED) return;
  list_send(c);
  if (e.got == -EINTR || e.got == -EAGAIN || e.got == -ENOMEM) return;  // once more
  if (e.got >= 0) {
    c.link->sent(*c.under_way);
  } else {
    c.link->not_sent(system_error("sendmsg", -e.got));
  }
  c.under_way.reset();
}

// ---- frames

void socket_traffic::take_frame(node& decisions, instant now) {
  const frame f = frames_.front();
  frames_.pop_front();
  carried& c = *f.from;
  c.held = false;
  const bool last = c.frames_left > 0 && --c.frames_left == 0;
  if (f.disconnects) {
    c.ended = true;
    decisions.disconnect(c.whom);
  } else {
    result<reception> got =
        judge_reception(c.in.header, static_cast<size_t>(f.end.got), proto::frame_bytes_max);
    if (!got) {
      decisions.receive_failed(c.whom, got.error());
    } else if (got->got == reception::what::ended) {
      c.ended = true;
      decisions.disconnect(c.whom);
    } else {
      decisions.receive(c.whom, sockets_.buffer_of(f.end).first(got->bytes), got->descriptor_count,
                        now);
      if (last) decisions.disconnect(c.whom);
    }
  }
  sockets_.give_back(f.end);
  list_receive(c);
}

// ---- requests

bool socket_traffic::cancel(deadline_ring& ring, carried& c, kind of) {
  return ring.prepare_cancel(name(c, of), name(c, kind::cancel));
}

void socket_traffic::prepare_receives(deadline_ring& ring) {
  listed_.swap(to_receive_);
  for (carried* c : listed_) {
    c->listed_receive = false;
    // One that is not received from now is listed again by what ends that.
    if (!c->receiving && !c->held && !c->ended && !c->link->has_unsent()) {
      c->receiving = sockets_.receive(ring, c->link->fd(), c->in, name(*c, kind::receive));
      if (!c->receiving) list_receive(*c);
    }
    if (c->receiving && c->frames_left > 0 && !c->receive_cancelled) {
      c->receive_cancelled = cancel(ring, *c, kind::receive);
      if (!c->receive_cancelled) list_receive(*c);
    }
  }
  listed_.clear();
}

void socket_traffic::prepare_sends(deadline_ring& ring) {
  listed_.swap(to_send_);
  for (carried* c : listed_) {
    c->listed_send = false;
    c->link->ring_was_told();
    offered_.push_back(c);
    if (c->sending || c->send_cancelled) continue;
    if (!c->under_way) c->under_way = c->link->take_next();
    if (!c->under_way) {
      list_receive(*c);
      continue;
    }
    c->sending = sockets_.send(ring, c->link->fd(), c->under_way->frame, c->under_way->descriptors,
                               c->out, name(*c, kind::send));
    if (!c->sending) list_send(*c);
  }
  listed_.clear();
}

// Of those that were let go. true: there is more to prepare when this was submitted.
bool socket_traffic::prepare_ends(deadline_ring& ring) {
  bool again = false;
  std::erase_if(letting_go_, [&](carried* c) {
    if (c->receiving && !c->receive_cancelled) {
      c->receive_cancelled = cancel(ring, *c, kind::receive);
    }
    if (c->sending && c->tried && !c->send_cancelled) {
      c->send_cancelled = cancel(ring, *c, kind::send);
    }
    again = again || !c->tried;
    const bool first = !std::exchange(c->tried, true);
    const bool all_sent = c->send_cancelled || (!c->under_way && !c->listed_send);
    if (first || c->receiving || c->sending || c->held || !all_sent) return false;
    std::erase(to_receive_, c);
    std::erase(to_send_, c);
    std::erase(offered_, c);
    c->link->close();
    all_.erase(c->whom);
    return true;
  });
  return again;
}

bool socket_traffic::submit(deadline_ring& ring, bool receive) {
  for (int i = 0; i < submits_per_turn; ++i) {
    prepare_sends(ring);
    if (receive) prepare_receives(ring);
    const bool again = prepare_ends(ring);
    const bool submitted = ring.submit();
    ring.take_completions();
    const bool some = take_ended(ring);
    if (!submitted && !again && !some) break;
  }
  // The kernel has what it takes: what waits now, the client has left unread.
  for (carried* c : offered_) {
    if (c->sending) c->link->break_if_slow();
  }
  offered_.clear();
  return !to_send_.empty();
}

void socket_traffic::give_back(deadline_ring& ring) {
  for (;;) {
    bool idle = true;
    for (auto& [id, c] : all_) {
      if (c->receiving && !c->receive_cancelled) {
        c->receive_cancelled = cancel(ring, *c, kind::receive);
      }
      if (c->sending && !c->send_cancelled) c->send_cancelled = cancel(ring, *c, kind::send);
      idle = idle && !c->receiving && !c->sending;
    }
    if (idle || ring.failed()) break;
    ring.submit();
    ring.sleep(steady_clock().now() + end_pause);
    take_ended(ring);
  }
  for (auto& [id, c] : all_) {
    if (c->letting_go) {
      c->link->close();
    } else {
      c->link->take_back(std::exchange(c->under_way, std::nullopt));
    }
  }
  all_.clear();
}

}  // namespace gar
