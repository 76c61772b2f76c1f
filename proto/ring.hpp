// The ring: one client's requests and their ends in shared memory, with no system call on the way
// in while gard's reactor is awake, and at most one on the way out.
//
// One memfd per client, made and sealed by gard, written by both. `entries` (a power of two, told
// in the welcome) is the number of slots, and of waits in flight. Everything that is not in flight
// is in a slot that the client may fill: a slot is a credit, and its index is the request's name.
//
//   offset 0            ring_header        4 lines, each with one writer (see below)
//   offset 256          ring_outcome[60]   cyclic; written by the client
//   offset 4096         submit[entries]    u32 `submission`, cyclic; written by the client
//   + 4 * entries       complete[entries]  u32 slot index, cyclic; written by gard
//   + 8 * entries       slots[entries]     ring_slot, by index
//
//   client: free slot -> fill `request` -> submit[tail], tail + 1 -> ring the bell -> (gard has it)
//   gard:   take it -> ... -> fill `completion` -> complete[tail], tail + 1 -> wake -> (client's)
//   client: read `completion` -> the slot is free again
//
// Every wait and every point gets exactly one completion; a cancel gets none of its own (the wait
// that it ends does). At most `entries` are in flight, so neither cyclic table overflows. gard
// keeps by itself which slots are in flight; naming one of those, or none that exists, breaks the
// protocol.
//
// All counters (tails and heads) count up without end; an index is a counter modulo the table.
//
// A request reaches gard so: fill the slot and `submit`; `submit_tail` (release); the client's byte
// in doorbell_page::request_flags = 1 (release); ring the bell; a full fence; read the state page;
// where the reactor is asleep, wake it as the state page says.
// gard takes so: exchange the byte with 0 (a full fence); read `submit_tail` (acquire).
//
// An end reaches the client so: fill `completion` and `complete`; `complete_tail` (release); a full
// fence; exchange `wants` with 0 where it is not 0; for wants_futex raise `signal` and one futex
// wake on it; for wants_pipe one byte into the pipe (a full one has been signalled already).
// A client that is about to block so: read `signal`; set its bit in `wants`; a full fence; look at
// `complete_tail` once more; wait on `signal` for a change from what was read, or on the pipe.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "proto/wire.hpp"

namespace gar::proto {

inline constexpr uint32_t wants_futex = 1;  // somebody is about to block on `signal`
inline constexpr uint32_t wants_pipe = 2;   // somebody watches the pipe's read end

struct ring_header {
  // Written by the client.
  uint64_t submit_tail;
  uint64_t outcome_tail;
  uint64_t reserved_0[6];
  // Written by gard.
  uint64_t submit_head;   // taken so far; for those who look on
  uint64_t outcome_head;  // taken so far; the client keeps tail - head <= ring_outcomes
  uint64_t reserved_1[6];
  // Written by gard.
  uint64_t complete_tail;
  uint32_t signal;  // futex word
  uint32_t reserved_2;
  uint64_t reserved_3[6];
  // Bits set by the client, taken by gard.
  uint32_t wants;
  uint32_t reserved_4;
  uint64_t reserved_5[7];
};

// ---- submit[i]: what is asked, and in which slot it is.
inline constexpr uint16_t submit_wait = 1;
inline constexpr uint16_t submit_cancel = 2;  // of the wait that is in flight in this slot
inline constexpr uint16_t submit_point = 3;   // names a point: `point` and `point_name`

struct submission {
  uint16_t slot;
  uint16_t op;  // submit_*
};

// ---- slots[i]
// As `wait_entry` without cookie: the slot is the cookie.
struct ring_request {
  uint64_t target;
  uint64_t age_ns;
  uint64_t timeout_ns;
  uint64_t plan_generation;
  uint32_t stream;
  uint32_t stream_generation;
  uint32_t point;
  uint32_t rows;
  uint64_t reserved[2];
};

// As `completion_entry`, where a refusal is a code too. The second line is written only where there
// is a vendor's call to name.
struct ring_completion {
  uint64_t wait_ns;
  uint64_t slept_ns;
  uint32_t parks;
  uint32_t backstop_queries;
  uint16_t code;
  uint8_t kind;
  uint8_t confirmed;
  int32_t status;
  uint64_t reserved[4];
  char call[call_field_bytes];
  uint8_t reserved_call[16];
};

struct ring_outcome {
  outcome_entry entry;
  uint64_t reserved;
};

struct ring_slot {
  ring_request request;
  union {
    ring_completion completion;         // written by gard
    char point_name[name_field_bytes];  // of submit_point: written by the client before
  };
};

inline constexpr uint32_t ring_entries_max = 4096;
inline constexpr uint32_t ring_entries_min = 64;

constexpr bool valid_ring_entries(uint64_t entries) {
  return entries >= ring_entries_min && entries <= ring_entries_max && std::has_single_bit(entries);
}

inline constexpr size_t ring_outcomes = 60;

inline constexpr size_t ring_outcomes_offset = sizeof(ring_header);
inline constexpr size_t ring_submit_offset = 4096;

constexpr size_t ring_complete_offset(size_t entries) {
  return ring_submit_offset + entries * sizeof(submission);
}
constexpr size_t ring_slots_offset(size_t entries) {
  return ring_complete_offset(entries) + entries * sizeof(uint32_t);
}
constexpr size_t ring_bytes(size_t entries) {
  return ring_slots_offset(entries) + entries * sizeof(ring_slot);
}

#define GAR_LAYOUT(type, size)                                               \
  static_assert(sizeof(type) == (size) && std::is_standard_layout_v<type> && \
                std::is_trivially_copyable_v<type>)
#define GAR_AT(type, field, offset) static_assert(offsetof(type, field) == (offset))

GAR_LAYOUT(ring_header, 256);
GAR_AT(ring_header, submit_tail, 0);
GAR_AT(ring_header, outcome_tail, 8);
GAR_AT(ring_header, submit_head, 64);
GAR_AT(ring_header, outcome_head, 72);
GAR_AT(ring_header, complete_tail, 128);
GAR_AT(ring_header, signal, 136);
GAR_AT(ring_header, wants, 192);
GAR_LAYOUT(submission, 4);
GAR_AT(submission, slot, 0);
GAR_AT(submission, op, 2);
GAR_LAYOUT(ring_request, 64);
GAR_AT(ring_request, target, 0);
GAR_AT(ring_request, age_ns, 8);
GAR_AT(ring_request, timeout_ns, 16);
GAR_AT(ring_request, plan_generation, 24);
GAR_AT(ring_request, stream, 32);
GAR_AT(ring_request, stream_generation, 36);
GAR_AT(ring_request, point, 40);
GAR_AT(ring_request, rows, 44);
GAR_AT(ring_request, reserved, 48);
GAR_LAYOUT(ring_completion, 128);
GAR_AT(ring_completion, wait_ns, 0);
GAR_AT(ring_completion, slept_ns, 8);
GAR_AT(ring_completion, parks, 16);
GAR_AT(ring_completion, backstop_queries, 20);
GAR_AT(ring_completion, code, 24);
GAR_AT(ring_completion, kind, 26);
GAR_AT(ring_completion, confirmed, 27);
GAR_AT(ring_completion, status, 28);
GAR_AT(ring_completion, reserved, 32);
GAR_AT(ring_completion, call, 64);
GAR_AT(ring_completion, reserved_call, 112);
GAR_LAYOUT(ring_slot, 192);
GAR_AT(ring_slot, request, 0);
GAR_AT(ring_slot, completion, 64);
GAR_AT(ring_slot, point_name, 64);
GAR_LAYOUT(ring_outcome, 64);
GAR_AT(ring_outcome, entry, 0);
GAR_AT(ring_outcome, reserved, 56);

static_assert(ring_outcomes_offset + ring_outcomes * sizeof(ring_outcome) == ring_submit_offset);
static_assert(ring_slots_offset(ring_entries_min) % line_bytes == 0);
static_assert(ring_entries_max <= UINT16_MAX, "a slot's index fits into a submission");

#undef GAR_LAYOUT
#undef GAR_AT

}  // namespace gar::proto
