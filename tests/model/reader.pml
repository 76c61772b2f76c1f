/* The reader among a client's threads. Three threads wait through one ring; one of those asleep
 * reads it and hands each end to its thread; the others sleep on their mailboxes. A thread may look
 * for a while before it sleeps, and takes what it finds then. Shown: each thread gets its end, and
 * nobody sleeps beside a ring that nobody reads.
 *
 * The order of single accesses to the ring is ring.pml's subject: here a store is seen at once, and
 * what is done with the client's lock held is one step, but where others look without the lock. A
 * signal is only ever compared with what its reader read before: a bit, taken back by reading. */

#define THREADS 3
#define NOBODY THREADS

byte tail;  /* of the completion ring */
byte head;  /* what the client's threads have taken */
byte completion_of[THREADS];
bit wants;
bit ring_raised;   /* the ring's signal, since its reader read it */
bit reader_sleeps; /* in the ring's futex */

bit locked;
bit has_news[THREADS];  /* the mailbox holds the completion */
bit raised[THREADS];    /* its signal, since the thread read it */
bit listed[THREADS];    /* in the list of those to wake */
bit asleep[THREADS];    /* in the mailbox's futex */
byte reader = NOBODY;
byte heir = NOBODY;      /* woken to become it */

#define HAS_END (tail != head)

inline put_end(i) {
  given[i] = 1;
  completion_of[tail] = i;
  tail++
}

/* gard ends the waits in any order; the steps are ring.pml's. */
active proctype gard() {
  bit given[THREADS];
  byte left = THREADS;
  bit wake;
  do
  :: left == 0 -> break
  :: else ->
     if
     :: d_step { !given[0] -> put_end(0) }
     :: d_step { !given[1] -> put_end(1) }
     :: d_step { !given[2] -> put_end(2) }
     fi;
     d_step { left--; wake = wants; wants = 0 };
     if
     :: wake ->
        ring_raised = 1;
        d_step { reader_sleeps = 0; wake = 0 }
     :: else
     fi
  od
}

/* With the lock held: news for thread i. */
inline give_news(i) {
  raised[i] = 1;
  if
  :: listed[i] -> listed[i] = 0; asleep[i] = 0
  :: else
  fi
}

/* With the lock held: where nobody reads, and nobody is on the way to, one of those asleep is woken
 * to become the reader. */
inline pass_on() {
#ifdef NOT_PASSED_ON
  skip
#else
  if
  :: reader != NOBODY || heir != NOBODY
  :: else ->
     if
     :: listed[0] -> heir = 0; give_news(0)
     :: !listed[0] && listed[1] -> heir = 1; give_news(1)
     :: !listed[0] && !listed[1] && listed[2] -> heir = 2; give_news(2)
     :: else
     fi
  fi
#endif
}

/* Takes one end, if there is one. Who looks without the lock sees the head move before the news. */
inline take() {
  if
  :: d_step {
       !locked && HAS_END ->
       locked = 1;
       whose = completion_of[head];
       completion_of[head] = 0;
       head++
     };
     d_step { has_news[whose] = 1; give_news(whose) };
     d_step { whose = 0; locked = 0 }
  :: !locked && !HAS_END
  fi
}

#ifdef READER_LOOKS_AT_RING_ONLY
#define MAY_SLEEP (!HAS_END)
#else
#define MAY_SLEEP (!HAS_END && !raised[me])
#endif
#ifdef READER_LOOKS_WITHOUT_LOCK
#define LOOKS 1
#else
#define LOOKS (!locked)
#endif

inline read_the_ring() {
  do
  :: ring_raised = 0;
     wants = 1;
     if
     :: LOOKS && MAY_SLEEP ->
        reader_sleeps = !ring_raised;
        !reader_sleeps
     :: LOOKS && !MAY_SLEEP
     fi;
     take();
     if
     :: raised[me] -> break
     :: else
     fi
  od;
  skip;
  d_step { !locked -> reader = NOBODY; pass_on() }
}

inline sleep_on_mailbox() {
  asleep[me] = !raised[me];
  !asleep[me];
  d_step { !locked -> listed[me] = 0 }
}

inline arrives() {
  if
  :: heir == me -> heir = NOBODY
  :: else
  fi
}

proctype thread(byte me) {
  byte whose;
  do
  :: d_step { !locked -> raised[me] = 0 };
     if
     :: !locked && has_news[me] -> break
     :: !locked && !has_news[me]
     fi;
     if
     :: take()
     :: skip
     fi;
     if
     :: !locked && raised[me]
     :: d_step { !locked && !raised[me] && reader == NOBODY -> arrives(); reader = me };
        read_the_ring()
     :: d_step { !locked && !raised[me] && reader != NOBODY -> arrives(); listed[me] = 1 };
        sleep_on_mailbox()
     fi
  od;
  /* The wait leaves. */
#ifndef HEIR_JUST_LEAVES
  skip;
  d_step {
    !locked ->
    if
    :: heir == me -> heir = NOBODY; pass_on()
    :: else
    fi
  }
#endif
}

init {
  atomic {
    run thread(0);
    run thread(1);
    run thread(2)
  }
}
