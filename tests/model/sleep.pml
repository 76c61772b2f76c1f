/* The state page's asleep word. Two clients and another thread of gard hand over requests; nothing
 * waits for a word, so the reactor sleeps whenever it finds no request. Shown: each request is
 * taken. A client hands over its second request without waiting for the first. */

#ifndef ROUNDS
#define ROUNDS 2
#endif
#include "machine.pml"

proctype client(byte c) {
  byte n = 1;
  do
  :: n <= ROUNDS_OF(c) -> client_submit(c, n); n++
  :: else -> break
  od;
  client_looks_again(c, ROUNDS_OF(c));
  target[c] == ROUNDS_OF(c)
}

proctype io() {
  byte n = 1;
  do
  :: n <= ROUNDS ->
     gard_submit(n);
     n++
  :: else -> break
  od;
  FENCED(IO) && !memory[WAITING]
#ifndef NO_KICKS
  ;
end_kicks:
  do
  :: take_kick()
  od
#endif
}

#ifdef STRANGER
/* Another process that may read the state page, and so may sleep on it too, again and again. */
proctype stranger() {
end_stranger:
  do
  :: d_step { !asleep[STRANGER_ID] && memory[STATE] == ASLEEP -> asleep[STRANGER_ID] = STATE }
  od
}
#endif

proctype reactor() {
  bit found;
  bit still_waiting;
  do
  ::
#ifdef IO_URING
     take_news();
#endif
     take_ring(0);
     take_ring(1);
     take_queue();
     if
     :: found -> found = 0
     :: else -> sleep()
     fi
  od
}

init {
  atomic {
    run client(0);
    run client(1);
    run io();
#ifdef STRANGER
    run stranger();
#endif
    run reactor()
  }
}
