// Mailbox: what gard has said about one delegated wait, until whoever runs the wait reads it.
//
// The service thread reads the socket; the wait is run by a blocked thread, or by a task of the
// service thread itself. News is put here and the runner is woken.
//
// Model: empty -> news (signal rises, the runner wakes) -> read by the runner -> empty
//
// Invariants: belongs to one wait; the link's table of pending waits points to it from registering
// to forgetting, and its fields are read and written under that table's lock alone, but `signal`.
// Memory order: `signal` is raised with release after the news, read with acquire.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "lib/core/error.hpp"
#include "lib/core/reactor.hpp"
#include "lib/core/time.hpp"
#include "proto/wire.hpp"

namespace gar::owner {

struct mailbox {
  // The wait.
  uint64_t cookie = 0;
  uint32_t stream_id = 0;
  uint64_t target = 0;

  // News.
  std::optional<proto::completion_entry> completion;
  std::optional<errc> refusal;
  bool lost = false;
  instant heard;

  // Who runs it: a thread that sleeps on `signal`, or a task.
  uint32_t signal = 0;
  reactor* host = nullptr;
  reactor::root* task = nullptr;

  uint32_t signal_now() const {
    return std::atomic_ref<uint32_t>(const_cast<uint32_t&>(signal)).load(std::memory_order_acquire);
  }
};

}  // namespace gar::owner
