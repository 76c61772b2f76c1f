/* The completion ring: tail, wants, signal. Each client has all its waits in flight and blocks
 * until they ended; the reactor ends any number of them at each look. Shown: each client gets all
 * its ends and none that is not there. */

#ifndef ROUNDS
#define ROUNDS 2
#endif
#include "machine.pml"

proctype client(byte c) {
  byte seen;
  byte signal;
  do
  :: seen == ROUNDS_OF(c) -> break
  :: else ->
     if
     :: LOAD(CLIENT(c), COMPLETE_TAIL + c) != seen ->
        seen = LOAD(CLIENT(c), COMPLETE_TAIL + c);
        assert(seen <= ended[c])
     :: else ->
        if
        :: uses_pipe[c] -> block_on_pipe(c, seen)
        :: else -> block_on_futex(c, seen)
        fi
     fi
  od
}

#ifdef OTHER_THREAD
/* Another thread of the first client ends the sleep of its reader, once, for reasons of its own. */
proctype other_thread() {
  d_step { write(SIGNAL, memory[SIGNAL] + 1) };
  d_step { futex_wake(SIGNAL) }
}
#endif

inline end_next(c) {
  atomic { ended[c] < ROUNDS_OF(c) -> target[c] = ended[c] + 1; ending[c] = 1 }
}

proctype reactor() {
  bit ending[2];
  do
  :: ended[0] == ROUNDS_OF(0) && ended[1] == ROUNDS_OF(1) -> break
  :: else ->
     if
     :: end_next(0)
     :: end_next(1)
     :: ended[0] < ROUNDS_OF(0) && ended[1] < ROUNDS_OF(1) -> end_next(0); end_next(1)
     fi;
     publish_end(0);
     publish_end(1);
     wake_client(0);
     wake_client(1)
  od
}

inline choose(c) {
#ifdef PIPES
  uses_pipe[c] = 1
#else
  if
  :: uses_pipe[c] = 1
  :: skip
  fi
#endif
}

init {
  atomic {
#ifndef FUTEXES
    choose(0);
    choose(1);
#endif
    run client(0);
    run client(1);
#ifdef OTHER_THREAD
    run other_thread();
#endif
    run reactor()
  }
}
