// Node limits: every maximum that an operator may move, within those of the contract.
//
// Everything a peer can make gard keep is counted against one of these, per client and per user;
// reaching one is a coded refusal to that client and touches nobody else. A client of the machine's
// other users never pays for one that asks for too much.
//
// Invariants: none exceeds its hard maximum (`checked`); the per-user limits bound the machine's
// memory whatever one user's clients do.
// Threads: values. Units: counts, but for *_bytes.
#pragma once

#include <cstdint>

#include "lib/core/error.hpp"
#include "proto/limits.hpp"
#include "proto/ring.hpp"

namespace gar {

struct node_limits {
  uint32_t clients = 4096;           // connections of the whole machine
  uint32_t clients_per_user = 1024;  // connections of one uid
  uint32_t streams_per_client = 4096;
  uint32_t streams_per_user = 65'536;
  uint32_t waits_per_client = 4096;  // pending at gard at one time
  uint32_t waits_per_user = 65'536;
  uint32_t ring_entries = 1024;  // of one client's ring: a power of two, and its waits in flight
  uint32_t pages_per_client = proto::pages_per_client_max;
  uint32_t runtime_plans = 256;                // scopes set by `garctl plan set`
  uint32_t unread_bytes_per_client = 1 << 20;  // messages a client has not read yet
  uint32_t unread_bytes_per_user = 64 << 20;   // the same of all of a user's, answers and all
  uint32_t naive_workers = 64;  // threads of the naive executor: waits of the whole machine
};

// What each of them may be at most; at least 1 each.
inline constexpr node_limits node_limits_max{
    .clients = 65'536,
    .clients_per_user = 65'536,
    .streams_per_client = proto::pages_per_client_max * proto::slots_per_page_min,
    .streams_per_user = 1 << 20,
    .waits_per_client = 65'536,
    .waits_per_user = 1 << 20,
    .ring_entries = proto::ring_entries_max,
    .pages_per_client = proto::pages_per_client_max,
    .runtime_plans = 4096,
    .unread_bytes_per_client = 64 << 20,
    .unread_bytes_per_user = 1 << 30,
    .naive_workers = 1024,
};
inline constexpr uint32_t unread_bytes_min = 64 << 10;  // some completions of a busy client

}  // namespace gar
