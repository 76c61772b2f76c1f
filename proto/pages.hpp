// The two pages of memory that every client of a gard maps: doorbell and state.
//
// Doorbell page: its first line is the doorbell. Whoever completes something, or hands gard a
// request, also stores here, so that one hardware monitor watches the whole machine.
//
//   offset 0    bell[0..7]   u64 each  written by clients and their devices, read by gard
//   offset 64   canary       u64       written by gard before the page leaves it; a hole punched
//                                      under the page makes it 0
//   offset 128  request_flags  u8 each  a client with a ring sets the byte that its welcome names,
//                                      gard takes it back: look at that ring once
//
// A ring is a non-zero value that changes with every store: client, slot and low bits of the
// sequence number (`bell_value`). The eight words spread clients (`bell_index`). Plain release
// stores only. The page is trusted for nothing: a forged ring costs a wake, never a wrong answer.
//
// State page: read-only for everybody but gard.
//
//   offset 0    reactor_state  u32     reactor_awake, reactor_asleep or reactor_asleep_message; a
//                                      futex word
//   offset 4    reserved       u32     0
//   offset 8    generation     u64     the node's plan generation
//
// Memory order: the reactor stores `asleep`, then a full fence, then re-checks requests; a
// requester stores its request, then a full fence, then reads the state. One of the two sees the
// other.
// The reactor may be between that look and its futex wait. So a requester that may write the state
// (gard) makes it `awake` before its futex wake; one that may not (a client) wakes again for as
// long as the state says asleep and nobody was woken.
// Where gard's kernel cannot sleep on the word and on its own ring at once, it says
// reactor_asleep_message: nobody sleeps on the word then, and a requester sends `kick` instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "proto/line.hpp"

namespace gar::proto {

inline constexpr uint64_t doorbell_canary = 0x6c6c6562'72616721;

// Clients with a ring at one time; the whole page is one of 4096 bytes on every machine.
inline constexpr size_t request_flags_max = 3072;

struct doorbell_page {
  completion_line bell;
  uint64_t canary;
  uint64_t reserved[7];
  uint8_t request_flags[request_flags_max];
};
static_assert(std::is_standard_layout_v<doorbell_page> &&
              std::is_trivially_copyable_v<doorbell_page>);
static_assert(sizeof(doorbell_page) == 3200 && alignof(doorbell_page) == 64);
static_assert(offsetof(doorbell_page, bell) == 0);
static_assert(offsetof(doorbell_page, canary) == 64);
static_assert(offsetof(doorbell_page, reserved) == 72);
static_assert(offsetof(doorbell_page, request_flags) == 128);

inline constexpr uint32_t reactor_awake = 0;
inline constexpr uint32_t reactor_asleep = 1;          // a futex wake on the word reaches it
inline constexpr uint32_t reactor_asleep_message = 2;  // a `kick` message does

struct state_page {
  uint32_t reactor_state;
  uint32_t reserved;
  uint64_t generation;
};
static_assert(std::is_standard_layout_v<state_page> && std::is_trivially_copyable_v<state_page>);
static_assert(sizeof(state_page) == 16 && alignof(state_page) == 8);
static_assert(offsetof(state_page, reactor_state) == 0);
static_assert(offsetof(state_page, reserved) == 4);
static_assert(offsetof(state_page, generation) == 8);

// Which bell word a client rings.
constexpr size_t bell_index(uint64_t client_id) {
  return client_id % words_per_line;
}

// The value of one ring. Never 0: bit 63 is always set.
constexpr uint64_t bell_value(uint64_t client_id, uint32_t stream_index, uint64_t sequence) {
  return (uint64_t{1} << 63) | ((client_id & 0x7fff) << 48) |
         (uint64_t{stream_index & 0xffff} << 32) | (sequence & 0xffff'ffff);
}

}  // namespace gar::proto
