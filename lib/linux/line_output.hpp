// Line output: a line to a descriptor that may be a pipe which nobody reads, without a wait for a
// reader.
//
// The pipe is shared with whoever else has it, so O_NONBLOCK is not ours to set: it would be set
// for all of them. poll tells instead, and what is no longer than PIPE_BUF fits where it says so.
//
// Threads: any, a line is written whole; between poll and write another writer may fill the pipe,
// so those of one process take turns. Blocking: not for a pipe, a socket or a file of which this
// process is the only writer. Allocation: none.
// Errors: none; false where the line is not written.
#pragma once

#include <climits>
#include <cstddef>
#include <string_view>

namespace gar {

inline constexpr size_t line_bytes_max = PIPE_BUF;

// With its newline, of at most line_bytes_max.
bool write_line_now(int fd, std::string_view line);

}  // namespace gar
