/* Memory as x86 has it (TSO): a store goes into its CPU's own buffer and reaches memory later, in
 * order, at a moment that the model chooses freely; a load sees the own buffer first. So a load may
 * be answered before an earlier store of the same CPU is seen by anybody: what full fences are for.
 *
 * A locked operation empties the buffer first, and so does a system call on a futex (the kernel
 * promises it). Acquire and release are what TSO gives anyway. Not modelled: orders weaker than
 * TSO, such as two loads that change places (README.md says what that leaves open).
 *
 * A process that never loads after a store needs no buffer: the delay of its next step is the same
 * thing. So devices write to memory as they go.
 *
 * Before this file: CPUS, DEPTH (stores that one CPU can have buffered; the models assert that it
 * suffices) and the addresses up to ADDRESSES, with BELL, BELLS and IS_BELL. */

byte memory[ADDRESSES];

byte buffered[CPUS];
byte buffer_at[CPUS * DEPTH];
byte buffer_value[CPUS * DEPTH];

/* The hardware monitor of the reactor's CPU, on the doorbell's line. */
bit monitor_armed;

#define SLOT(cpu, i) ((cpu) * DEPTH + (i))
#define HELD(cpu, i, a) (buffered[cpu] > (i) && buffer_at[SLOT(cpu, i)] == (a))
#define NEWEST(cpu, i, a, older) (HELD(cpu, i, a) -> buffer_value[SLOT(cpu, i)] : older)
#if DEPTH != 4
#error "LOAD looks through four buffered stores"
#endif
#define LOAD(cpu, a) \
  NEWEST(cpu, 3, a, NEWEST(cpu, 2, a, NEWEST(cpu, 1, a, NEWEST(cpu, 0, a, memory[a]))))

/* What reaches memory; a store to the line ends the monitor's watch. A locked operation writes so
 * by itself, once its CPU is FENCED. */
inline write(a, v) {
  memory[a] = v;
  monitor_armed = (monitor_armed && !IS_BELL(a))
}

/* Into the own buffer: nobody else sees that, so several in a row are one step. */
inline buffer(cpu, a, v) {
  assert(buffered[cpu] < DEPTH);
  buffer_at[SLOT(cpu, buffered[cpu])] = a;
  buffer_value[SLOT(cpu, buffered[cpu])] = v;
  buffered[cpu]++
}

inline store(cpu, a, v) {
  d_step { buffer(cpu, a, v) }
}

/* A full fence goes on when the own stores are in memory. The load after it may be the same step:
 * a fence that ends later and one that ends earlier cannot be told apart. */
#define FENCED(cpu) (buffered[cpu] == 0)

/* Futexes: `asleep[cpu]` is the address that the CPU's thread sleeps on, 0 where it does not sleep
 * (no futex word has address 0). The kernel compares and goes to sleep as one step. All with a
 * buffer that is empty. */
byte asleep[CPUS];

inline futex_wait(cpu, a, expected) {
  asleep[cpu] = (memory[a] == expected -> a : 0)
}

/* Who may sleep is up to the model: the CPUs before SLEEPERS. */
inline futex_wake(a) {
  k = 0;
  do
  :: k < SLEEPERS ->
     if
     :: asleep[k] == a -> asleep[k] = 0
     :: else
     fi;
     k++
  :: else -> break
  od;
  k = 0
}
hidden byte k;

inline drain_one(cpu) {
  d_step {
    buffered[cpu] > 0 ->
    write(buffer_at[SLOT(cpu, 0)], buffer_value[SLOT(cpu, 0)]);
    k = 1;
    do
    :: k < DEPTH ->
       buffer_at[SLOT(cpu, k - 1)] = buffer_at[SLOT(cpu, k)];
       buffer_value[SLOT(cpu, k - 1)] = buffer_value[SLOT(cpu, k)];
       k++
    :: else -> break
    od;
    buffer_at[SLOT(cpu, DEPTH - 1)] = 0;
    buffer_value[SLOT(cpu, DEPTH - 1)] = 0;
    buffered[cpu]--;
    k = 0
  }
}

active proctype store_buffers() {
end_drained:
  do
  :: drain_one(0)
#if CPUS > 1
  :: drain_one(1)
#endif
#if CPUS > 2
  :: drain_one(2)
#endif
#if CPUS > 3
  :: drain_one(3)
#endif
#if CPUS > 4
#error "store_buffers drains four CPUs"
#endif
  od
}
