// Daemon process: what a process sets right before it opens anything.
//
// A process inherits more than it asked for: a umask, missing standard descriptors (the first
// socket would become its stderr), a SIGPIPE that ends it when a peer leaves.
//
// Threads: at start, while there is one. Errors: none; what cannot be set is left as it was.
#pragma once

namespace gar {

// Files are made private unless they are given a mode; descriptors 0, 1 and 2 exist; a write to a
// peer that has gone is an error, not a signal.
void prepare_daemon_process();

// Is stderr the journal's own stream (JOURNAL_STREAM)? A stderr that was redirected is not.
bool stderr_is_journal();

}  // namespace gar
