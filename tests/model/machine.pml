/* Who is there, and where the shared words lie. Two clients, each with its device, its words and
 * its ring; the reactor; another thread of gard. */

#define REACTOR 0
#define CLIENT(c) (1 + (c))
#define IO 3
#define CPUS 4
#define STRANGER_ID 3
#define SLEEPERS 4
#define DEPTH 4

/* The first client asks ROUNDS times, the second once: enough for whatever of one comes between two
 * of the other. */
#define ROUNDS_OF(c) (c == 0 -> ROUNDS : 1)

/* One doorbell line; two of its words, or both clients on one. */
#ifndef BELLS
#define BELLS 2
#endif
#if BELLS > 1
#define BELL_OF(c) (c)
#else
#define BELL_OF(c) 0
#endif

#define BELL 1
#define IS_BELL(a) ((a) == BELL || (a) == BELL + 1)
#define WORD 3
#define SUBMIT_TAIL 5
#define FLAG 7
#define STATE 9
#define WAITING 10
#define COMPLETE_TAIL 11
#define SIGNAL 13
#define WANTS 15
#define ADDRESSES 17

#include "memory.pml"

#define SOMEBODY_SLEEPS_ON(a) \
  (asleep[0] == (a) || asleep[1] == (a) || asleep[2] == (a) || asleep[3] == (a))

/* What the reactor knows by itself, shared with the assertions. */
byte target[2];
byte ended[2];
byte raised[2];
bit pipe_holds[2];
bit uses_pipe[2]; /* what a client blocks on: the futex or the pipe */

#include "steps.pml"
