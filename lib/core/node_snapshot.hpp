// Node snapshot: what a person who runs the machine can see of the node, as plain values.
//
// The control requests (status, clients, streams, points, plan show) and the metrics are made from
// these; a field's name is its JSON key. Taken whole on the io thread, so that its parts agree.
//
// Threads: values. Allocation: as many entries as there are. Units: in the names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/core/codec.hpp"
#include "lib/core/duration_histogram.hpp"
#include "lib/core/error.hpp"
#include "lib/core/wait.hpp"

namespace gar {

// How many successful waits ended in each kind.
struct kind_counts {
  uint64_t blocked = 0;
  uint64_t immediate = 0;
  uint64_t late = 0;
  uint64_t parked = 0;

  void add(wait_kind kind) {
    switch (kind) {
      case wait_kind::blocked:
        ++blocked;
        break;
      case wait_kind::immediate:
        ++immediate;
        break;
      case wait_kind::late:
        ++late;
        break;
      case wait_kind::parked:
        ++parked;
        break;
    }
  }
  void add(const kind_counts& other) {
    blocked += other.blocked;
    immediate += other.immediate;
    late += other.late;
    parked += other.parked;
  }
};

struct wait_counts {
  uint64_t pending = 0;
  uint64_t completed = 0;
  uint64_t failed = 0;  // with an error that none of the following counts
  uint64_t cancelled = 0;
  uint64_t timed_out = 0;
  uint64_t owner_gone = 0;  // dropped because the owner died
  uint64_t early_word = 0;  // the word came before the authority said done
  uint64_t refused = 0;     // for a limit, then run by the owner
  uint64_t lost_store = 0;  // ended by the owner's answer, the word had not come
  uint64_t waited_ns = 0;   // of those completed that did not poll: what spinning would burn
  uint64_t oldest_pending_ms = 0;
};

struct reactor_counts {
  uint64_t polls = 0;
  uint64_t woken = 0;
  uint64_t slept = 0;
  uint64_t parked = 0;
  uint64_t idle_ns = 0;
  uint64_t backstop_probes = 0;
};

struct executor_snapshot {
  std::string requested;
  std::string running;
  std::string strictness;
  std::optional<error> warning;
};

struct word_wait_snapshot {
  std::string kind;
  bool hardware = false;
  std::string why;
};

// What the executor's thread really runs with.
struct executor_thread_snapshot {
  std::optional<uint32_t> cpu;       // it stays on this one
  std::string scheduling = "other";  // or "fifo:N"
  std::optional<uint64_t> timer_slack_ns;
  std::vector<error> warnings;  // what was asked for and refused
};

// The CPUs kept out of deep sleep.
struct cpu_latency_snapshot {
  bool requested = false;
  bool held = false;
  uint64_t changes = 0;
  std::optional<std::string> refused;
};

struct latency_snapshot {
  executor_thread_snapshot thread;
  cpu_latency_snapshot cpu_dma_latency;
};

struct capability_snapshot {
  std::string name;
  bool available = false;
  std::string why;
};

struct plan_snapshot {  // the default scope's
  uint64_t generation = 0;
  std::string requested;
  std::string running;
  std::vector<error> warnings;
};

struct status_snapshot {
  std::string version;
  int64_t pid = 0;
  uint64_t uptime_ms = 0;
  executor_snapshot executor;
  word_wait_snapshot word_wait;
  uint64_t margin_floor_us = 0;  // that gard keeps before each prediction
  latency_snapshot latency;
  std::vector<capability_snapshot> capabilities;
  plan_snapshot plan;
  uint64_t clients = 0;
  uint64_t streams = 0;
  wait_counts waits;
  kind_counts kinds;
  reactor_counts reactor;
  uint64_t process_cpu_ms = 0;   // process.cpu_ms
  uint64_t process_rss_kib = 0;  // process.rss_kib
};

struct client_snapshot {
  uint64_t id = 0;
  std::string name;
  uint32_t uid = 0;
  uint32_t gid = 0;
  int64_t pid = 0;
  uint64_t connected_ms = 0;
  std::string notification;  // how it hears of its waits: "ring" or "socket"
  uint64_t streams = 0;
  uint64_t pending = 0;
  uint64_t completed = 0;
  uint64_t failed = 0;
  uint64_t waited_ns = 0;  // as in wait_counts
  uint64_t oldest_pending_ms = 0;
  kind_counts kinds;
  duration_histogram told;  // from the look that saw a word to the wake, of some of its waits
  std::vector<proto::driver_state> drivers;
};

struct stream_snapshot {
  uint64_t client_id = 0;
  std::string client;
  uint32_t stream = 0;
  uint32_t stream_generation = 0;
  std::string name;
  std::string authority;  // "owner" or "word"
  uint16_t page = 0;
  uint16_t line = 0;
  uint16_t slot = 0;
  uint64_t base = 0;
  uint64_t word = 0;  // what the word says now
  uint64_t pending = 0;
  uint64_t completed = 0;
  uint64_t waited_ns = 0;  // as in wait_counts
  uint64_t oldest_pending_ms = 0;
  kind_counts kinds;
};

// Where a list that is read in parts goes on; of its own kind of list alone.
struct list_place {
  uint64_t session = 0;
  uint32_t entry = 0;
  bool ended = false;
};

// One readback point: named by the client, or a stream whose waits name none.
struct point_snapshot {
  uint64_t client_id = 0;
  std::string client;
  std::optional<std::string> point;
  std::optional<uint32_t> stream;  // where `point` is not set
  uint64_t samples = 0;            // kept now
  std::optional<uint64_t> predicted_ns;
  uint64_t waits = 0;
  uint64_t pending = 0;
  uint64_t oldest_pending_ms = 0;
  uint64_t waited_ns = 0;  // as in wait_counts
  kind_counts kinds;
};

}  // namespace gar
