// Protocol version 1 as bytes: the messages between gard and its clients, one per SOCK_SEQPACKET
// message. PROTOCOL.md says what they mean and when they may be sent; here is their layout.
//
// Every message starts with a `header`. All integers are little-endian; every field is at a
// multiple of its size; all padding is named and must be 0. Texts are UTF-8, fixed fields padded
// with NUL. Messages with `count` carry that many entries right behind their fixed part. A message
// is exactly `bytes` long: no more, no less.
//
//   dir  type            fixed part        entries (count)        descriptors
//   c>s  hello      1    hello_fixed       driver_entry 0..8      none
//   s>c  welcome    2    welcome_fixed     none                   lines, doorbell, state; with
//                                                                feature_ring also ring, pipe
//   s>c  page       3    page_fixed        none                   lines
//   c>s  open       4    open_fixed        none                   none
//   s>c  opened     5    opened_fixed      none                   none
//   c>s  close      6    close_fixed       none                   none
//   s>c  closed     7    closed_fixed      none                   none
//   s>c  plan       8    plan_fixed        text (count bytes)     none
//   c>s  point      9    point_fixed       none                   none
//   c>s  wait      10    header            wait_entry 1..         none
//   c>s  cancel    11    cancel_fixed      none                   none
//   s>c  completion 12   header            completion_entry 1..   none
//   s>c  probe     13    header            probe_entry 1..        none
//   c>s  status    14    header            status_entry 1..       none
//   c>s  outcome   15    header            outcome_entry 1..      none
//   s>c  error     16    error_fixed       text (count bytes)     none
//   both bye       17    bye_fixed         none                   none
//   c>s  ask       18    ask_fixed         text (count bytes)     none
//   s>c  answer    19    answer_fixed      text (count bytes)     none
//   c>s  kick      20    header            none                   none
//
// Units: *_ns nanoseconds. Ages and timeouts are relative.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "proto/limits.hpp"

namespace gar::proto {

static_assert(std::endian::native == std::endian::little,
              "layouts are little-endian and are copied as they are");

enum class message_type : uint16_t {
  hello = 1,
  welcome = 2,
  page = 3,
  open = 4,
  opened = 5,
  close = 6,
  closed = 7,
  plan = 8,
  point = 9,
  wait = 10,
  cancel = 11,
  completion = 12,
  probe = 13,
  status = 14,
  outcome = 15,
  error = 16,
  bye = 17,
  ask = 18,
  answer = 19,
  kick = 20,
};

inline constexpr size_t name_field_bytes = name_bytes_max + 1;  // always ends in NUL
inline constexpr size_t call_field_bytes = 48;                  // a vendor call's name, ends in NUL
inline constexpr size_t why_field_bytes = 128;                  // ends in NUL

struct header {
  uint16_t type;
  uint16_t count;
  uint32_t bytes;  // of the whole message
};

// Bits of hello's and welcome's `features`.
inline constexpr uint32_t feature_ring = 1;  // requests and their ends in shared memory: ring.hpp

// ---- c>s hello: the first message of a client.
struct driver_entry {
  char name[16];      // "cuda", "hip", "vulkan", "sim", ...
  uint8_t available;  // 0 or 1
  uint8_t reserved[7];
  char why[why_field_bytes];  // empty, or why it is not available
};
struct hello_fixed {
  header head;
  uint16_t version_min;
  uint16_t version_max;
  uint32_t features;  // bits that the client can use, feature_*
  char client_name[name_field_bytes];
};

// ---- s>c welcome: the answer to hello, with three descriptors: lines, doorbell, state; where
// `features` has feature_ring two more: the ring, and the read end of its pipe.
struct welcome_fixed {
  header head;
  uint16_t version;
  uint16_t plan_scopes;  // plan messages that follow at once, one per scope
  uint32_t features;
  uint64_t client_id;
  uint32_t page_bytes;   // of one lines page
  uint32_t streams_max;  // limits of this connection
  uint32_t waits_max;
  uint32_t pages_max;
  uint64_t plan_generation;  // the generation of the plan messages that follow
  char word_wait[16];        // "umwait", "mwaitx", "wfet", "wfe", "software", "none"
  char executor[16];         // "io-uring", "gpu-reactor", "naive"
  uint32_t ring_entries;     // of the ring, a power of two; 0 without one
  uint32_t request_flag;     // the client's in doorbell_page::request_flags; 0 without a ring
};

// ---- s>c page: a further lines page, with one descriptor; sent before the opened that needs it.
struct page_fixed {
  header head;
  uint16_t page_index;  // 1..15; page 0 came with the welcome
  uint16_t reserved;
  uint32_t page_bytes;
};

// ---- c>s open, s>c opened
inline constexpr uint8_t authority_owner = 0;  // the owner is asked (probe)
inline constexpr uint8_t authority_word = 1;   // the word itself is the authority

struct open_fixed {
  header head;
  uint64_t cookie;  // echoed in opened or error
  uint64_t base;    // the last value this stream ever enqueued; 0 for a new one
  uint8_t authority;
  uint8_t reserved[7];
  char stream_name[name_field_bytes];  // may be empty
};
struct opened_fixed {
  header head;
  uint64_t cookie;
  uint64_t base;    // the base in force: the later, in wrapping order, of the one asked for and the
                    // slot's last value; the next number recorded is base + 1
  uint32_t stream;  // id on this connection
  uint32_t stream_generation;
  uint16_t page_index;
  uint16_t line_index;
  uint16_t slot;
  uint16_t reserved;
};

// ---- c>s close, s>c closed: the client has settled the last record before it sends this.
struct close_fixed {
  header head;
  uint64_t cookie;
  uint32_t stream;
  uint32_t stream_generation;
  uint64_t last_sequence;  // the last value ever enqueued on the slot
};
struct closed_fixed {
  header head;
  uint64_t cookie;
};

// ---- s>c plan: one scope of one generation. A generation is complete when `scopes` messages with
// its number have come; scope default is always among them.
inline constexpr uint16_t scope_default = 0;
inline constexpr uint16_t scope_client = 1;
inline constexpr uint16_t scope_point = 2;
inline constexpr uint16_t scope_client_point = 3;

struct plan_fixed {
  header head;  // count: bytes of the text behind, 1..512
  uint64_t generation;
  uint16_t scope;
  uint16_t scope_index;  // 0..scopes-1
  uint16_t scopes;
  uint16_t reserved;
  char point_name[name_field_bytes];  // empty unless the scope names a point
};

// ---- c>s point: names a point on this connection; a number used again means the new name.
struct point_fixed {
  header head;
  uint32_t point;  // 1..256
  uint32_t reserved;
  char point_name[name_field_bytes];
};

// ---- c>s wait: several at once.
struct wait_entry {
  uint64_t cookie;  // of the client's choosing; not that of a pending wait
  uint64_t target;
  uint64_t age_ns;      // how long ago the wait began; clamped to 10 s
  uint64_t timeout_ns;  // from the start of the wait; 0 means none
  uint64_t plan_generation;
  uint32_t stream;
  uint32_t stream_generation;
  uint32_t point;  // 0 means none
  uint32_t rows;   // the band is the one of these rows
};

struct cancel_fixed {
  header head;
  uint64_t cookie;
};

// ---- s>c completion: waits that ended, several at once.
inline constexpr uint8_t kind_blocked = 0;    // by the vendor's blocking wait
inline constexpr uint8_t kind_immediate = 1;  // found done before anything was waited for
inline constexpr uint8_t kind_late = 2;       // found done by the first look after the sleep
inline constexpr uint8_t kind_parked = 3;     // seen pending, then done

struct completion_entry {
  uint64_t cookie;
  uint64_t wait_ns;
  uint64_t slept_ns;
  uint32_t parks;
  uint32_t backstop_queries;
  uint16_t code;      // 0: the word arrived (or, for a word authority, done); else an error number
  uint8_t kind;       // kind_*
  uint8_t confirmed;  // 1: the owner's own probe answer said done; 0: query once more
  int32_t status;     // of Backend: the vendor's status
  char call[call_field_bytes];  // of Backend: the vendor's call
};

// ---- s>c probe, c>s status
struct probe_entry {
  uint64_t probe_id;
  uint64_t sequence;
  uint32_t stream;
  uint32_t stream_generation;
};

inline constexpr uint8_t probe_pending = 0;
inline constexpr uint8_t probe_done = 1;
inline constexpr uint8_t probe_failed = 2;

struct status_entry {
  uint64_t probe_id;
  uint64_t sequence;
  uint32_t stream;
  uint32_t stream_generation;
  uint8_t state;
  uint8_t reserved[3];
  int32_t status;
  char call[call_field_bytes];
};

// ---- c>s outcome: waits that ended at the owner, early words and limit refusals.
inline constexpr uint8_t outcome_wait = 0;        // a wait that ended here; all fields count
inline constexpr uint8_t outcome_early_word = 1;  // the word came before the authority said done
inline constexpr uint8_t outcome_refused = 2;     // a limit refusal that was run inline instead

inline constexpr uint8_t sample_none = 0;
inline constexpr uint8_t sample_exact = 1;
inline constexpr uint8_t sample_late = 2;

struct outcome_entry {
  uint64_t wait_ns;
  uint64_t slept_ns;
  uint64_t sample_ns;
  uint32_t stream;
  uint32_t stream_generation;
  uint32_t point;
  uint32_t parks;
  uint32_t backstop_queries;
  uint32_t rows;
  uint16_t code;   // 0: done; else an error number
  uint8_t what;    // outcome_*
  uint8_t kind;    // kind_*
  uint8_t sample;  // sample_*
  uint8_t reserved[3];
};

// ---- s>c error: a refusal. Fatal ones are followed by the end of the connection.
struct error_fixed {
  header head;      // count: bytes of the text behind, 0..1024
  uint64_t cookie;  // of the request that is refused; 0 where it has none
  uint16_t code;
  uint16_t request_type;  // message type refused; 0 where none
  uint8_t fatal;
  uint8_t reserved[3];
};

struct bye_fixed {
  header head;
  uint16_t code;  // 0, or why: ShuttingDown, ...
  uint16_t reserved[3];
};

// ---- c>s ask, s>c answer: one read-only control request as JSON text; needs no hello.
struct ask_fixed {
  header head;  // count: bytes of the text behind, 1..3072
  uint64_t cookie;
};
struct answer_fixed {
  header head;  // count: bytes of this frame's part
  uint64_t cookie;
  uint32_t offset_bytes;  // of this part in the whole answer
  uint32_t total_bytes;
};

// ---- c>s kick: header only. Instead of a futex wake while the state page says
// reactor_asleep_message.

// Sizes and offsets. A change here is a change of the protocol: see CHANGES.md.
#define GAR_LAYOUT(type, size)                                               \
  static_assert(sizeof(type) == (size) && std::is_standard_layout_v<type> && \
                std::is_trivially_copyable_v<type>)
#define GAR_AT(type, field, offset) static_assert(offsetof(type, field) == (offset))

GAR_LAYOUT(header, 8);
GAR_AT(header, type, 0);
GAR_AT(header, count, 2);
GAR_AT(header, bytes, 4);
GAR_LAYOUT(driver_entry, 152);
GAR_AT(driver_entry, name, 0);
GAR_AT(driver_entry, available, 16);
GAR_AT(driver_entry, reserved, 17);
GAR_AT(driver_entry, why, 24);
GAR_LAYOUT(hello_fixed, 80);
GAR_AT(hello_fixed, version_min, 8);
GAR_AT(hello_fixed, version_max, 10);
GAR_AT(hello_fixed, features, 12);
GAR_AT(hello_fixed, client_name, 16);
GAR_LAYOUT(welcome_fixed, 88);
GAR_AT(welcome_fixed, version, 8);
GAR_AT(welcome_fixed, plan_scopes, 10);
GAR_AT(welcome_fixed, features, 12);
GAR_AT(welcome_fixed, client_id, 16);
GAR_AT(welcome_fixed, page_bytes, 24);
GAR_AT(welcome_fixed, streams_max, 28);
GAR_AT(welcome_fixed, waits_max, 32);
GAR_AT(welcome_fixed, pages_max, 36);
GAR_AT(welcome_fixed, plan_generation, 40);
GAR_AT(welcome_fixed, word_wait, 48);
GAR_AT(welcome_fixed, executor, 64);
GAR_AT(welcome_fixed, ring_entries, 80);
GAR_AT(welcome_fixed, request_flag, 84);
GAR_LAYOUT(page_fixed, 16);
GAR_AT(page_fixed, page_index, 8);
GAR_AT(page_fixed, reserved, 10);
GAR_AT(page_fixed, page_bytes, 12);
GAR_LAYOUT(open_fixed, 96);
GAR_AT(open_fixed, cookie, 8);
GAR_AT(open_fixed, base, 16);
GAR_AT(open_fixed, authority, 24);
GAR_AT(open_fixed, reserved, 25);
GAR_AT(open_fixed, stream_name, 32);
GAR_LAYOUT(opened_fixed, 40);
GAR_AT(opened_fixed, cookie, 8);
GAR_AT(opened_fixed, base, 16);
GAR_AT(opened_fixed, stream, 24);
GAR_AT(opened_fixed, stream_generation, 28);
GAR_AT(opened_fixed, page_index, 32);
GAR_AT(opened_fixed, line_index, 34);
GAR_AT(opened_fixed, slot, 36);
GAR_AT(opened_fixed, reserved, 38);
GAR_LAYOUT(close_fixed, 32);
GAR_AT(close_fixed, cookie, 8);
GAR_AT(close_fixed, stream, 16);
GAR_AT(close_fixed, stream_generation, 20);
GAR_AT(close_fixed, last_sequence, 24);
GAR_LAYOUT(closed_fixed, 16);
GAR_AT(closed_fixed, cookie, 8);
GAR_LAYOUT(plan_fixed, 88);
GAR_AT(plan_fixed, generation, 8);
GAR_AT(plan_fixed, scope, 16);
GAR_AT(plan_fixed, scope_index, 18);
GAR_AT(plan_fixed, scopes, 20);
GAR_AT(plan_fixed, reserved, 22);
GAR_AT(plan_fixed, point_name, 24);
GAR_LAYOUT(point_fixed, 80);
GAR_AT(point_fixed, point, 8);
GAR_AT(point_fixed, reserved, 12);
GAR_AT(point_fixed, point_name, 16);
GAR_LAYOUT(wait_entry, 56);
GAR_AT(wait_entry, cookie, 0);
GAR_AT(wait_entry, target, 8);
GAR_AT(wait_entry, age_ns, 16);
GAR_AT(wait_entry, timeout_ns, 24);
GAR_AT(wait_entry, plan_generation, 32);
GAR_AT(wait_entry, stream, 40);
GAR_AT(wait_entry, stream_generation, 44);
GAR_AT(wait_entry, point, 48);
GAR_AT(wait_entry, rows, 52);
GAR_LAYOUT(cancel_fixed, 16);
GAR_AT(cancel_fixed, cookie, 8);
GAR_LAYOUT(completion_entry, 88);
GAR_AT(completion_entry, cookie, 0);
GAR_AT(completion_entry, wait_ns, 8);
GAR_AT(completion_entry, slept_ns, 16);
GAR_AT(completion_entry, parks, 24);
GAR_AT(completion_entry, backstop_queries, 28);
GAR_AT(completion_entry, code, 32);
GAR_AT(completion_entry, kind, 34);
GAR_AT(completion_entry, confirmed, 35);
GAR_AT(completion_entry, status, 36);
GAR_AT(completion_entry, call, 40);
GAR_LAYOUT(probe_entry, 24);
GAR_AT(probe_entry, probe_id, 0);
GAR_AT(probe_entry, sequence, 8);
GAR_AT(probe_entry, stream, 16);
GAR_AT(probe_entry, stream_generation, 20);
GAR_LAYOUT(status_entry, 80);
GAR_AT(status_entry, probe_id, 0);
GAR_AT(status_entry, sequence, 8);
GAR_AT(status_entry, stream, 16);
GAR_AT(status_entry, stream_generation, 20);
GAR_AT(status_entry, state, 24);
GAR_AT(status_entry, reserved, 25);
GAR_AT(status_entry, status, 28);
GAR_AT(status_entry, call, 32);
GAR_LAYOUT(outcome_entry, 56);
GAR_AT(outcome_entry, wait_ns, 0);
GAR_AT(outcome_entry, slept_ns, 8);
GAR_AT(outcome_entry, sample_ns, 16);
GAR_AT(outcome_entry, stream, 24);
GAR_AT(outcome_entry, stream_generation, 28);
GAR_AT(outcome_entry, point, 32);
GAR_AT(outcome_entry, parks, 36);
GAR_AT(outcome_entry, backstop_queries, 40);
GAR_AT(outcome_entry, rows, 44);
GAR_AT(outcome_entry, code, 48);
GAR_AT(outcome_entry, what, 50);
GAR_AT(outcome_entry, kind, 51);
GAR_AT(outcome_entry, sample, 52);
GAR_AT(outcome_entry, reserved, 53);
GAR_LAYOUT(error_fixed, 24);
GAR_AT(error_fixed, cookie, 8);
GAR_AT(error_fixed, code, 16);
GAR_AT(error_fixed, request_type, 18);
GAR_AT(error_fixed, fatal, 20);
GAR_AT(error_fixed, reserved, 21);
GAR_LAYOUT(bye_fixed, 16);
GAR_AT(bye_fixed, code, 8);
GAR_AT(bye_fixed, reserved, 10);
GAR_LAYOUT(ask_fixed, 16);
GAR_AT(ask_fixed, cookie, 8);
GAR_LAYOUT(answer_fixed, 24);
GAR_AT(answer_fixed, cookie, 8);
GAR_AT(answer_fixed, offset_bytes, 16);
GAR_AT(answer_fixed, total_bytes, 20);

#undef GAR_LAYOUT
#undef GAR_AT

}  // namespace gar::proto
