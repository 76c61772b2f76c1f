/* The steps of the hand-overs, each once; the models put them together. README.md names the code
 * behind each. What is removable, a -D removes; check.py holds the list.
 *
 * All parks are without bound here: in gard a lost wake costs one park bound or a backstop, in the
 * model it is a deadlock, which Spin finds. Nobody wakes by mistake either, but where SPURIOUS
 * grants a number of such wakes.
 *
 * An atomic step makes one access that others can see. Only where a load of a flag that nobody else
 * clears stands before the exchange of the same flag, the two are one. */

#define AWAKE 0
#define ASLEEP 1

#ifndef SPURIOUS
#define SPURIOUS 0
#endif
byte spurious_left = SPURIOUS;

/* Blocks until `ready`, or takes one of the granted early returns. */
#define wait_until(ready)                                                      \
  d_step {                                                                     \
    (ready) || spurious_left ->                                                \
    if                                                                         \
    :: ready                                                                   \
    :: else -> spurious_left--                                                 \
    fi                                                                         \
  }

/* Every ring stores a value of its own (proto::bell_value). */
#ifdef REPEATED_REQUEST_BELL
#define REQUEST_BELL(c, n) (1 + 32 * (c))
#else
#define REQUEST_BELL(c, n) (32 * (c) + (n))
#endif
#ifdef REPEATED_DEVICE_BELL
#define DEVICE_BELL(c, n) (17 + 32 * (c))
#else
#define DEVICE_BELL(c, n) (16 + 32 * (c) + (n))
#endif
#define GARD_BELL(n) (200 + (n))

#ifdef NO_CLIENT_FENCE
#define CLIENT_FENCED(c) 1
#else
#define CLIENT_FENCED(c) FENCED(CLIENT(c))
#endif
#ifdef NO_WAKER_FENCE
#define WAKER_FENCED 1
#else
#define WAKER_FENCED FENCED(IO)
#endif
#ifdef NO_SLEEP_FENCE
#define SLEEP_FENCED 1
#else
#define SLEEP_FENCED FENCED(REACTOR)
#endif
#ifdef NO_PUBLISH_FENCE
#define PUBLISH_FENCED 1
#else
#define PUBLISH_FENCED FENCED(REACTOR)
#endif
#ifdef NO_BLOCK_FENCE
#define BLOCK_FENCED(c) 1
#else
#define BLOCK_FENCED(c) FENCED(CLIENT(c))
#endif

/* ---- A device: the word behind the work, then the doorbell. */
inline device_store(c, n) {
#ifdef DEVICE_BELL_BEFORE_WORD
  d_step { write(BELL + BELL_OF(c), DEVICE_BELL(c, n)) };
  d_step { write(WORD + c, n) }
#else
  d_step { write(WORD + c, n) };
#ifndef NO_DEVICE_BELL
  d_step { write(BELL + BELL_OF(c), DEVICE_BELL(c, n)) }
#endif
#endif
}

/* ---- A client hands over request n: ring, flag, bell, fence, state. */
inline client_submit(c, n) {
  d_step {
#ifdef FLAG_BEFORE_TAIL
    buffer(CLIENT(c), FLAG + c, 1);
    buffer(CLIENT(c), SUBMIT_TAIL + c, n);
#else
    buffer(CLIENT(c), SUBMIT_TAIL + c, n);
#ifndef BELL_BEFORE_FLAG
    buffer(CLIENT(c), FLAG + c, 1);
#endif
#endif
#ifndef NO_REQUEST_BELL
    buffer(CLIENT(c), BELL + BELL_OF(c), REQUEST_BELL(c, n));
#endif
#ifdef BELL_BEFORE_FLAG
    buffer(CLIENT(c), FLAG + c, 1);
#endif
  }
  if
  :: CLIENT_FENCED(c) && LOAD(CLIENT(c), STATE) == ASLEEP -> client_wakes_reactor(c)
  :: CLIENT_FENCED(c) && LOAD(CLIENT(c), STATE) != ASLEEP
  fi
}

/* A client cannot write the state, so it wakes until somebody was woken or the state changed. The
 * tries between those two are of no effect, and left out. In truth they are bounded: after the last
 * it sends a message, with which gard's own waker wakes. */
byte kicks;
inline client_wakes_reactor(c) {
#ifdef WAKE_ONCE
  d_step {
    FENCED(CLIENT(c)) ->
    if
    :: SOMEBODY_SLEEPS_ON(STATE) -> futex_wake(STATE)
    :: else -> kicks++
    fi
  }
#else
#ifdef NO_CLIENT_WAKE
  skip
#else
#ifdef WAKES_TILL_AWAKE
  do
  :: d_step { FENCED(CLIENT(c)) && SOMEBODY_SLEEPS_ON(STATE) -> futex_wake(STATE) }
  :: memory[STATE] != ASLEEP -> break
  od
#else
  d_step {
    FENCED(CLIENT(c)) && (memory[STATE] != ASLEEP || SOMEBODY_SLEEPS_ON(STATE)) ->
    futex_wake(STATE)
  }
#endif
#endif
#endif
}

/* Who was woken may have been somebody else who sleeps on the state's word, while the reactor was on
 * its way there. So a client that is about to block or to leave looks again, after a while: of a
 * reactor that sleeps beside its request it asks a wake by message. */
inline client_looks_again(c, n) {
#ifndef NO_LOOK_AGAIN
  if
  :: target[c] >= n
  :: target[c] < n && memory[STATE] != ASLEEP
  :: d_step { target[c] < n && memory[STATE] == ASLEEP -> kicks++ }
  fi
#else
  skip
#endif
}

/* ---- Another thread of gard hands over request n: queue, bell, fence, state, which it changes
 * before it wakes. The queue is under a lock, so `waiting` stands for both. */
inline gard_submit(n) {
  d_step {
    buffer(IO, WAITING, 1);
    buffer(IO, BELL, GARD_BELL(n))
  }
  wake_from_gard()
}

/* A message that asks for a wake, and no more. */
inline take_kick() {
  d_step { kicks > 0 -> kicks--; buffer(IO, BELL, GARD_BELL(30)) }
  wake_from_gard()
}

inline wake_from_gard() {
  if
  :: WAKER_FENCED && LOAD(IO, STATE) == ASLEEP -> waker_wakes_reactor()
  :: WAKER_FENCED && LOAD(IO, STATE) != ASLEEP
  fi
}

inline waker_wakes_reactor() {
#ifdef WAKER_LEAVES_STATE
  d_step { FENCED(IO) -> futex_wake(STATE) }
#else
#ifdef WAKER_WAKES_FIRST
  d_step { FENCED(IO) -> futex_wake(STATE) };
  d_step {
    FENCED(IO) ->
    if
    :: memory[STATE] == ASLEEP -> write(STATE, AWAKE)
    :: else
    fi
  }
#else
  if
  :: atomic { FENCED(IO) && memory[STATE] == ASLEEP -> write(STATE, AWAKE) };
     wake_sleeper()
  :: FENCED(IO) && memory[STATE] != ASLEEP
  fi
#endif
#endif
}

/* The io-uring executor's waker in gard writes an eventfd. */
#ifdef IO_URING
bit event;
inline wake_sleeper() {
  event = 1
}
#else
inline wake_sleeper() {
  d_step { futex_wake(STATE) }
}
#endif

/* ---- The reactor: copy the bell, take requests, look. */
inline copy_bell() {
  copy[0] = LOAD(REACTOR, BELL);
#if BELLS > 1
  copy[1] = LOAD(REACTOR, BELL + 1)
#endif
}

inline take_ring(c) {
  if
#ifdef FLAG_CLEARED_LATE
  :: LOAD(REACTOR, FLAG + c) -> target[c] = LOAD(REACTOR, SUBMIT_TAIL + c); found = 1;
     d_step { FENCED(REACTOR) -> write(FLAG + c, 0) }
#else
#ifdef FLAG_CLEARED_PLAINLY
  :: atomic { LOAD(REACTOR, FLAG + c) -> buffer(REACTOR, FLAG + c, 0); found = 1 };
#else
  :: atomic { LOAD(REACTOR, FLAG + c) && FENCED(REACTOR) -> write(FLAG + c, 0); found = 1 };
#endif
     target[c] = LOAD(REACTOR, SUBMIT_TAIL + c)
#endif
  :: !LOAD(REACTOR, FLAG + c)
  fi
}

inline take_queue() {
  if
  :: atomic { LOAD(REACTOR, WAITING) && FENCED(REACTOR) -> write(WAITING, 0); found = 1 }
  :: !LOAD(REACTOR, WAITING)
  fi
}

/* Wakes a wait whose word arrived: `ending` are the ends of this look. */
#ifdef ENDED_UNSEEN
#define COMPLETE(c) (target[c] > ended[c])
#else
#define COMPLETE(c) (target[c] > ended[c] && LOAD(REACTOR, WORD + c) >= target[c])
#endif
inline look_at(c) {
  if
  :: atomic { COMPLETE(c) -> ending[c] = 1; found = 1 }
  :: !COMPLETE(c)
  fi
}

/* Arm, compare, wait. */
#ifdef NO_BELL_COMPARE
#define BELL_AS_COPIED(i) 1
#else
#define BELL_AS_COPIED(i) (LOAD(REACTOR, BELL + (i)) == copy[i])
#endif
#ifdef NO_PARK_RECHECK
#define NO_WORD_RECHECK
#define NO_FLAG_RECHECK
#endif
#ifdef NO_WORD_RECHECK
#define WORD_STILL_WAITS(c) 1
#else
#define WORD_STILL_WAITS(c) (!COMPLETE(c))
#endif
#ifdef NO_FLAG_RECHECK
#define NO_REQUEST(c) 1
#else
#define NO_REQUEST(c) (!LOAD(REACTOR, FLAG + (c)))
#endif
#if BELLS > 1
#define BELL_STILL (BELL_AS_COPIED(0) && BELL_AS_COPIED(1))
#else
#define BELL_STILL BELL_AS_COPIED(0)
#endif

#define STILL_WAITING                                                         \
  (BELL_STILL && NO_REQUEST(0) && NO_REQUEST(1) && WORD_STILL_WAITS(0) && \
   WORD_STILL_WAITS(1))

/* Each look of the comparison is a step of its own. */
inline compare() {
  still_waiting = BELL_AS_COPIED(0);
#if BELLS > 1
  still_waiting = still_waiting && BELL_AS_COPIED(1);
#endif
#ifndef NO_FLAG_RECHECK
  still_waiting = still_waiting && NO_REQUEST(0);
  still_waiting = still_waiting && NO_REQUEST(1);
#endif
#ifndef NO_WORD_RECHECK
  still_waiting = still_waiting && WORD_STILL_WAITS(0);
  still_waiting = still_waiting && WORD_STILL_WAITS(1)
#endif
}

inline park() {
#ifdef COMPARED_BEFORE_ARMED
  compare();
  monitor_armed = 1;
#else
  monitor_armed = 1;
  compare();
#endif
  if
  :: still_waiting ->
#ifdef SOFTWARE_PARK
     wait_until(!STILL_WAITING)
#else
     wait_until(!monitor_armed)
#endif
  :: else
  fi;
  d_step { monitor_armed = 0; still_waiting = 0 }
}

/* The io-uring executor sleeps for its eventfd and for a wait on the state's word that an earlier
 * sleep may have left in the kernel; that one compares nothing anew. */
#ifdef IO_URING
bit futex_armed;
#define HAS_NEWS (event || (futex_armed && !asleep[REACTOR]))
inline take_news() {
  d_step {
    event = 0;
    futex_armed = (futex_armed && asleep[REACTOR])
  }
}
inline sleep_in_io_uring() {
  if
  :: HAS_NEWS
  :: d_step {
       !HAS_NEWS && FENCED(REACTOR) ->
       if
       :: !futex_armed -> futex_wait(REACTOR, STATE, ASLEEP); futex_armed = 1
       :: else
       fi
     };
end_asleep:
     wait_until(HAS_NEWS)
  fi;
  take_news()
}
#endif

/* Announce, fence, look at requests once more, sleep, announce. The bell is not listened to. */
inline sleep() {
  store(REACTOR, STATE, ASLEEP);
#ifdef NO_SLEEP_RECHECK
  SLEEP_FENCED -> still_waiting = 1;
#else
  atomic { SLEEP_FENCED -> still_waiting = !LOAD(REACTOR, WAITING) };
#ifndef NO_SLEEP_RING_RECHECK
  still_waiting = still_waiting && !LOAD(REACTOR, FLAG);
  still_waiting = still_waiting && !LOAD(REACTOR, FLAG + 1);
#endif
#endif
  if
  :: still_waiting ->
#ifdef IO_URING
     sleep_in_io_uring()
#else
     d_step { FENCED(REACTOR) -> futex_wait(REACTOR, STATE, ASLEEP) };
end_asleep:
     wait_until(!asleep[REACTOR]);
     asleep[REACTOR] = 0
#endif
  :: else
  fi;
  d_step {
    still_waiting = 0;
    buffer(REACTOR, STATE, AWAKE)
  }
}

/* ---- Ends reach the clients: completion, tail, fence, wants, signal, wake. First all tails of a
 * look, then one fence, then at most one wake for each client. */
inline publish_end(c) {
  if
  :: atomic {
       ending[c] ->
       ended[c] = target[c];
       buffer(REACTOR, COMPLETE_TAIL + c, ended[c])
     }
  :: else
  fi
}

#ifdef WANTS_CLEARED_LATE
#define TAKE_WANTS(c) skip
#else
#define TAKE_WANTS(c) write(WANTS + c, 0)
#endif

inline raise_signal(c) {
#ifdef SIGNAL_ADDED
  d_step { FENCED(REACTOR) -> write(SIGNAL + c, memory[SIGNAL + c] + 1) }
#else
  d_step { raised[c]++; buffer(REACTOR, SIGNAL + c, raised[c]) }
#endif
}

inline wake_client(c) {
  if
  :: ending[c] ->
     ending[c] = 0;
     if
     :: atomic { PUBLISH_FENCED && LOAD(REACTOR, WANTS + c) && FENCED(REACTOR) -> TAKE_WANTS(c) };
        if
        :: uses_pipe[c] -> pipe_holds[c] = 1
        :: else ->
#ifdef SIGNAL_AFTER_WAKE
           d_step { futex_wake(SIGNAL + c) };
#endif
#ifndef SIGNAL_NOT_RAISED
           raise_signal(c);
#endif
#ifndef SIGNAL_AFTER_WAKE
#ifndef NO_FUTEX_WAKE
           d_step { FENCED(REACTOR) -> futex_wake(SIGNAL + c) }
#endif
#endif
        fi;
#ifdef WANTS_CLEARED_LATE
        d_step { FENCED(REACTOR) -> write(WANTS + c, 0) }
#endif
     :: PUBLISH_FENCED && !LOAD(REACTOR, WANTS + c)
     fi
  :: else
  fi
}

/* A client is about to block: signal, wants, fence, the tail once more, wait. Setting the bit is a
 * store that may be late: an atomic operation without order is no more. */
inline set_wants(c) {
#ifdef WANTS_NOT_SET
  skip
#else
  store(CLIENT(c), WANTS + c, 1)
#endif
}

#ifdef NO_TAIL_RECHECK
#define SOMETHING_ENDED(c, seen) 0
#else
#define SOMETHING_ENDED(c, seen) (LOAD(CLIENT(c), COMPLETE_TAIL + c) != seen)
#endif

inline block_on_futex(c, seen) {
#ifndef SIGNAL_READ_LATE
  signal = LOAD(CLIENT(c), SIGNAL + c);
#endif
  set_wants(c);
  if
  :: BLOCK_FENCED(c) && !SOMETHING_ENDED(c, seen) ->
#ifdef SIGNAL_READ_LATE
     signal = LOAD(CLIENT(c), SIGNAL + c);
#endif
     d_step { FENCED(CLIENT(c)) -> futex_wait(CLIENT(c), SIGNAL + c, signal) };
     wait_until(!asleep[CLIENT(c)]);
     asleep[CLIENT(c)] = 0
  :: BLOCK_FENCED(c) && SOMETHING_ENDED(c, seen)
  fi;
  signal = 0
}

inline block_on_pipe(c, seen) {
#ifdef PIPE_KEPT_WHERE_WANTED
  if
  :: LOAD(CLIENT(c), WANTS + c)
  :: !LOAD(CLIENT(c), WANTS + c) -> pipe_holds[c] = 0
  fi;
#else
#ifndef PIPE_DRAINED_LATE
  pipe_holds[c] = 0;
#endif
#endif
  set_wants(c);
  if
  :: BLOCK_FENCED(c) && !SOMETHING_ENDED(c, seen) ->
#ifdef PIPE_DRAINED_LATE
     pipe_holds[c] = 0;
#endif
     wait_until(pipe_holds[c])
  :: BLOCK_FENCED(c) && SOMETHING_ENDED(c, seen)
  fi
}
