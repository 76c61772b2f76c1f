/* The doorbell: arm, re-check, wait. Two devices store words and ring; two clients hand over
 * requests and ring; the reactor parks whenever a look found nothing, as it does while any word of
 * the machine is waited for. Shown: each request is taken and each wait ended. */

#ifndef ROUNDS
#define ROUNDS 2
#endif
#include "machine.pml"

proctype device(byte c) {
  byte n = 1;
  do
  :: n <= ROUNDS_OF(c) -> device_store(c, n); n++
  :: else -> break
  od
}

proctype client(byte c) {
  byte n = 1;
  do
  :: n <= ROUNDS_OF(c) ->
     client_submit(c, n);
     ended[c] == n;
     n++
  :: else -> break
  od
}

inline end_here(c) {
  if
  :: ending[c] ->
     assert(memory[WORD + c] >= target[c]);
     ended[c] = target[c];
     ending[c] = 0
  :: else
  fi
}

proctype reactor() {
  byte copy[BELLS];
  bit ending[2];
  bit found;
  bit still_waiting;
  do
  :: ended[0] == ROUNDS_OF(0) && ended[1] == ROUNDS_OF(1) -> break
  :: else ->
#ifdef BELL_COPIED_LATE
     take_ring(0);
     take_ring(1);
     look_at(0);
     look_at(1);
     copy_bell();
#else
     copy_bell();
     take_ring(0);
     take_ring(1);
     look_at(0);
     look_at(1);
#endif
     if
     :: found ->
        d_step {
          found = 0;
          end_here(0);
          end_here(1)
        }
     :: else -> park()
     fi
  od
}

init {
  atomic {
    run device(0);
    run device(1);
    run client(0);
    run client(1);
    run reactor()
  }
}
