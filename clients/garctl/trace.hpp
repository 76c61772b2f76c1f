// `garctl trace`: the waits of some seconds, written as a Chrome trace.
//
// Asks gard to note each wait's times for so long, reads them while they come, and writes them as
// they are read, so that neither keeps more than a part of them.
//
// Invariants: the file is whole JSON, or as it was; where gard went meanwhile, gave the trace up or
// did not end it in time, it has what was read until then, and this ends with 1.
// Threads: one. Blocking: for the time asked, and while the rest is read, `grace` at most. Errors:
// as requests.hpp; 1 too where the file cannot be written, which is said before gard is asked, or
// as soon as it is full.
#pragma once

#include "clients/garctl/command_line.hpp"
#include "clients/garctl/requests.hpp"
#include "lib/core/time.hpp"

namespace gar {

int trace(const command_line& line, terminal& with, duration grace = from_ms(5'000));

}  // namespace gar
