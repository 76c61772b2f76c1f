// Wait order: what one wait was asked for, and how it ended.
//
// Threads: values.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "clients/garclient/gar.h"
#include "clients/garclient/stream.hpp"
#include "lib/core/error.hpp"
#include "lib/core/time.hpp"
#include "lib/core/wait.hpp"

namespace gar::owner {

// A wait that sleeps goes through its own end before that comes, time and again while it looks for
// its word: after milliseconds of sleep little of what the end needs is in the caches, and to fetch
// it takes several times as long as to run it. So it makes a second wait, for a number that is
// confirmed, whose end is booked as a rehearsal: everything is gone through, and nothing changes.
enum class booking : uint8_t { real, rehearsed };

struct wait_order {
  std::shared_ptr<stream> of;
  uint64_t sequence = 0;
  instant start;
  instant deadline = instant::never();
  std::string point;  // may be empty
  uint32_t rows = 0;
  bool run_inline = false;
  booking as = booking::real;
  // Makes the second wait; may be empty.
  std::function<void(uint64_t confirmed)> rehearse;
};

struct wait_end {
  enum class by : uint8_t {
    owner,     // the first query, or a plan that is the owner's to run, or inline as asked
    no_gard,   // a plan that gard would have run, and did not
    gard,      // gard's news, confirmed by the authority
    backstop,  // the owner's backstop, gard being silent
    given_up,  // the deadline or the program; gard was told
  };
  by ended = by::owner;
  wait_report report;
  std::optional<error> failure;
};

gar_report to_report(const wait_end& end);

// What a wait that its program ends fails with: Cancelled, or Closed with its stream.
error given_up(errc why) noexcept;

}  // namespace gar::owner
