#include "lib/core/ring_intake.hpp"

#include <algorithm>
#include <string>

#include "lib/core/planted.hpp"
#include "lib/core/utf8.hpp"

namespace gar {
namespace {

error broken(const char* fault) {
  return error(errc::MalformedMessage, {std::string("ring: ") + fault});
}

class intake {
 public:
  intake(node& decisions, session& of, delegated_waits& waits, ring_seat& seat, instant now)
      : node_(&decisions), session_(&of), waits_(&waits), seat_(&seat), now_(now) {}

  result<void> take_requests() {
    result<uint32_t> waiting = ring().begin();
    if (!waiting) return waiting.error();
    if (*waiting > 0) seat_->fruitless = 0;
    for (uint32_t i = 0; i < *waiting; ++i) {
      result<void> taken = take(ring().next());
      if (!taken) return taken;
    }
    return {};
  }

  result<void> take_outcomes() {
    result<uint32_t> waiting = ring().begin_outcomes();
    if (!waiting) return waiting.error();
    if (*waiting > 0) seat_->fruitless = 0;
    for (uint32_t i = 0; i < *waiting; ++i) {
      const proto::ring_outcome outcome = ring().next_outcome();
      if (outcome.reserved != 0) return broken("an outcome's reserved field is not 0");
      if (const char* fault = proto::outcome_fault(outcome.entry)) return broken(fault);
      node_->take_outcome(*session_, outcome.entry);
    }
    return {};
  }

 private:
  client_ring& ring() { return seat_->ring; }

  result<void> take(const proto::submission& s) {
    if (s.slot >= ring().entries()) return broken("the slot does not exist");
    reactor_board::entry* in_flight = reactor_board::at_slot(*seat_->waits, s.slot);
    if (s.op == proto::submit_cancel) {
      if (in_flight) waits_->cancel(*in_flight);
      return {};
    }
    if (in_flight) return broken("the slot is in flight");
    if (s.op == proto::submit_wait) return take_wait(s.slot);
    if (s.op == proto::submit_point) return take_point(s.slot);
    return broken("the op is none");
  }

  result<void> take_wait(uint16_t slot) {
    const proto::ring_request r = ring().request(slot);
    if (r.reserved[0] != 0 || r.reserved[1] != 0) return broken("a reserved field is not 0");
    if (r.point > proto::points_per_client_max) return broken("the point's number is not 0..256");
    const proto::wait asked{
        slot,    r.target, r.age_ns, r.timeout_ns, r.plan_generation, r.stream, r.stream_generation,
        r.point, r.rows};
    result<wait_start> started = node_->start_by_ring(*session_, slot, asked, now_);
    if (started) {
      waits_->start(*seat_->waits, *started);
    } else {
      waits_->board().answer_slot(*seat_->waits, slot, started.error().number());
    }
    return {};
  }

  result<void> take_point(uint16_t slot) {
    const proto::ring_request r = ring().request(slot);
    const client_ring::name_field field = ring().point_name(slot);
    if (r.reserved[0] != 0 || r.reserved[1] != 0) return broken("a reserved field is not 0");
    if (r.point == 0 || r.point > proto::points_per_client_max) {
      return broken("the point's number is not 1..256");
    }
    const char* const past = std::end(field.text);
    const char* end = std::find(std::begin(field.text), past, '\0');
    const std::string name(std::begin(field.text), end);
    const bool padded = end != past && std::all_of(end, past, [](char c) { return c == '\0'; });
    if (!padded || !proto::valid_name(name)) {
      return broken("the point's name is not 1..63 bytes of plain UTF-8");
    }
    node_->name_point(*session_, {r.point, name});
    waits_->board().answer_slot(*seat_->waits, slot, 0);
    return {};
  }

  node* node_;
  session* session_;
  delegated_waits* waits_;
  ring_seat* seat_;
  instant now_;
};

}  // namespace

bool take_ring(node& decisions, delegated_waits& waits, ring_seat& seat, instant now) {
  session* s = decisions.ring_session(seat.session);
  if (!s) return false;
  ++seat.fruitless;
  if (planted(bug::wake_flag_cleared_early)) seat.ring.take_wants();
  intake from(decisions, *s, waits, seat, now);
  result<void> taken = from.take_requests();
  if (taken) taken = from.take_outcomes();
  seat.ring.end_of_take();
  if (taken) return true;
  decisions.refuse_session(seat.session, taken.error());
  return false;
}

}  // namespace gar
