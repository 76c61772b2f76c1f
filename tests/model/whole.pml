/* Everything at once: a client's request reaches the reactor, awake, parked or asleep; its device
 * stores; the reactor ends the wait and wakes the client, which blocks on the futex or the pipe.
 * The other is a second client, or a thread of gard. */

#ifndef ROUNDS
#define ROUNDS 1
#endif
#include "machine.pml"

byte recorded[2];

proctype device(byte c) {
  byte n = 1;
  do
  :: n <= ROUNDS_OF(c) ->
     recorded[c] >= n;
     device_store(c, n);
     n++
  :: else -> break
  od
}

proctype client(byte c) {
  byte signal;
  byte n = 1;
  do
  :: n <= ROUNDS_OF(c) ->
     recorded[c] = n;
     client_submit(c, n);
     do
     :: LOAD(CLIENT(c), COMPLETE_TAIL + c) == n -> break
     :: else ->
        if
        :: uses_pipe[c] -> block_on_pipe(c, n - 1)
        :: else -> block_on_futex(c, n - 1)
        fi
     od;
     assert(memory[WORD + c] >= n);
     n++
  :: else -> break
  od
}

#ifdef WITH_IO
proctype io() {
  gard_submit(1);
  FENCED(IO) && !memory[WAITING]
}
#endif

proctype reactor() {
  byte copy[BELLS];
  bit ending[2];
  bit found;
  bit still_waiting;
  do
  :: copy_bell();
     publish_end(0);
     publish_end(1);
     if
     :: ending[0] || ending[1] ->
        wake_client(0);
        wake_client(1)
     :: else
     fi;
     take_ring(0);
     take_ring(1);
#ifdef WITH_IO
     take_queue();
#endif
     look_at(0);
     look_at(1);
     if
     :: found -> found = 0
     :: else ->
        if
        :: target[0] == ended[0] && target[1] == ended[1] -> sleep()
        :: else -> park()
        fi
     fi
  od
}

init {
  atomic {
    uses_pipe[1] = 1;
    run device(0);
    run client(0);
#ifdef WITH_IO
    run io();
#else
    run device(1);
    run client(1);
#endif
    run reactor()
  }
}
