// The C interface: waits.
#include <utility>

#include "clients/garclient/handles.hpp"
#include "clients/garclient/last_error.hpp"

using namespace gar;
using namespace gar::owner;

namespace {

result<wait_order> read_order(gar_stream* s, uint64_t sequence, const gar_wait_options* options) {
  const instant start = steady_clock().now();
  const result<client*> own = checked(s);
  if (!own) return own.error();
  const result<gar_wait_options> o = read_struct(options, "options");
  if (!o) return o.error();
  constexpr uint32_t known = GAR_WAIT_INLINE | GAR_WAIT_ROWS;
  if (o->flags & ~known) return invalid("options->flags", "has bits that mean nothing");
  const result<std::string> point = optional_name(o->point, "options->point");
  if (!point) return point.error();
  wait_order order;
  order.of = s->own;
  order.sequence = sequence;
  order.start = start;
  if (o->timeout_ns != 0) order.deadline = start + duration{o->timeout_ns};
  order.point = *point;
  order.rows = o->flags & GAR_WAIT_ROWS ? o->rows : (*own)->rows();
  order.run_inline = o->flags & GAR_WAIT_INLINE;
  return order;
}

result<wait_order> read_recorded(gar_stream* s, uint64_t sequence,
                                 const gar_wait_options* options) {
  result<wait_order> order = read_order(s, sequence, options);
  if (!order) return order;
  const result<void> recorded = s->own->check_recorded(sequence);
  if (!recorded) return recorded.error();
  return order;
}

result<void> run(const wait_order& order, gar_stream* s, gar_report* report) {
  const wait_end end = s->client->own->wait(order);
  if (report) *report = to_report(end);
  if (end.failure) return *end.failure;
  return {};
}

}  // namespace

extern "C" {

int gar_wait(gar_stream* s, uint64_t sequence, const gar_wait_options* options,
             gar_report* report) {
  return entry([&]() -> result<void> {
    if (report) *report = {};
    const result<wait_order> order = read_recorded(s, sequence, options);
    if (!order) return order.error();
    return run(*order, s, report);
  });
}

int gar_wait_stream(gar_stream* s, const gar_wait_options* options, gar_report* report) {
  return entry([&]() -> result<void> {
    if (report) *report = {};
    result<wait_order> order = read_order(s, 0, options);
    if (!order) return order.error();
    const result<bool> idle = s->own->idle();
    if (!idle) return idle.error();
    order->sequence = s->own->last();
    if (*idle && !s->own->check_recorded(order->sequence)) {
      if (report) report->kind = GAR_KIND_IMMEDIATE;  // nothing was ever enqueued
      return {};
    }
    if (!*idle) {
      const result<uint64_t> recorded = s->client->own->record(s->own);
      if (!recorded) return recorded.error();
      order->sequence = *recorded;
    }
    return run(*order, s, report);
  });
}

int gar_query(gar_stream* s, uint64_t sequence, int* done) {
  return entry([&]() -> result<void> {
    const result<client*> own = checked(s);
    if (!own) return own.error();
    result<void> out = not_null(done, "done");
    if (!out) return out;
    result<void> recorded = s->own->check_recorded(sequence);
    if (!recorded) return recorded;
    const result<bool> answer = s->own->query(sequence);
    if (!answer) return answer.error();
    *done = *answer ? 1 : 0;
    return {};
  });
}

int gar_wait_async(gar_stream* s, uint64_t sequence, const gar_wait_options* options,
                   void* user_data, uint64_t* ticket) {
  return entry([&]() -> result<void> {
    const result<wait_order> order = read_recorded(s, sequence, options);
    if (!order) return order.error();
    if (order->run_inline) {
      return invalid("options->flags", "GAR_WAIT_INLINE has no thread to run on here");
    }
    const result<uint64_t> given = s->client->own->wait_async(*order, user_data);
    if (!given) return given.error();
    if (ticket) *ticket = *given;
    return {};
  });
}

int gar_client_fd(gar_client* c) {
  int fd = -1;
  entry([&]() -> result<void> {
    const result<client*> own = checked(c);
    if (!own) return own.error();
    const result<int> made = (*own)->readable_fd();
    if (!made) return made.error();
    fd = *made;
    return {};
  });
  return fd;
}

int gar_take(gar_client* c, gar_completion* completions, size_t capacity_count,
             size_t* taken_count) {
  return entry([&]() -> result<void> {
    const result<client*> own = checked(c);
    if (!own) return own.error();
    result<void> out = not_null(taken_count, "taken_count");
    if (!out) return out;
    if (capacity_count > 0) out = not_null(completions, "completions");
    if (!out) return out;
    *taken_count = (*own)->take({completions, capacity_count});
    return {};
  });
}

int gar_cancel(gar_client* c, uint64_t ticket) {
  return entry([&]() -> result<void> {
    const result<client*> own = checked(c);
    if (!own) return own.error();
    return (*own)->cancel(ticket);
  });
}

}  // extern "C"
