// The C interface: waits.
#include <cstdint>
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

struct wait_call {
  gar_stream* stream;
  uint64_t sequence;
  const gar_wait_options* options;
  gar_report* report;
  const void* returns_to = nullptr;
  const wait_order* rehearses = nullptr;  // then the program's options are not read again
};

result<wait_order> read_order(const wait_call& c) {
  if (!c.rehearses) return read_recorded(c.stream, c.sequence, c.options);
  wait_order order = *c.rehearses;
  order.sequence = c.sequence;
  order.run_inline = true;
  order.as = booking::rehearsed;
  order.rehearse = nullptr;
  return order;
}

// Brings back what a rehearsal does not come to: the stack above it, the program's report, and the
// code that the program goes on with. A prefetch never faults.
void fetch_for_return(const wait_call& c, const void* stack_from) {
  constexpr uintptr_t line_bytes = 64;
  constexpr uintptr_t stack_of_program_bytes = 512;
  const auto end = reinterpret_cast<uintptr_t>(&c) + stack_of_program_bytes;
  for (auto at = reinterpret_cast<uintptr_t>(stack_from); at < end; at += line_bytes) {
    __builtin_prefetch(reinterpret_cast<const void*>(at), 1);
  }
  if (c.report) __builtin_prefetch(c.report, 1);
  const auto code = reinterpret_cast<uintptr_t>(c.returns_to);
  __builtin_prefetch(reinterpret_cast<const void*>(code));
  __builtin_prefetch(reinterpret_cast<const void*>(code + line_bytes));
}

// A rehearsal is a call of the same function, so that it runs the same instructions.
int make_call(const wait_call& c) {
  return entry([&]() -> result<void> {
    if (c.report) *c.report = {};
    result<wait_order> order = read_order(c);
    if (!order) return order.error();
    if (!c.rehearses) {
      order->rehearse = [&c, &real = *order](uint64_t confirmed) {
        gar_report unread;
        (void)make_call({c.stream, confirmed, nullptr, &unread, nullptr, &real});
        fetch_for_return(c, &unread);
      };
    }
    return run(*order, c.stream, c.report);
  });
}

}  // namespace

extern "C" {

int gar_wait(gar_stream* s, uint64_t sequence, const gar_wait_options* options,
             gar_report* report) {
  return make_call({s, sequence, options, report, __builtin_return_address(0)});
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
