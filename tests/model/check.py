#!/usr/bin/env python3
"""Checks the models of the hand-overs with Spin, and that each finds what it is there to find.

usage: check.py            every model as it is, then with each step removed; a table
       check.py NAME...    only the rows of these models (park, sleep, ring, reader, whole)
       check.py --lines    that the code which README.md names for each step is there

A model as it is must hold in every state; with a step removed it must not. Exit status: 0 where
all is as it must be, 1 where not, 2 for an unknown name, 77 where spin or a C compiler is missing.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MEMORY_MIB = 2000
SECONDS_MAX = 170
DEPTH_MAX = 100_000

HOLDS = "holds"  # in every state, and what every run can stop in is allowed
ENDS = "ends"    # no cycle of states: whatever the order of steps, every run stops
SPINS = "spins"  # a cycle
LOST = "lost"    # a deadlock: somebody waits for ever
FALSE = "false"  # an assertion: an end that was not there

# (model, definitions, what must come out, what it is)
ROWS = [
    ("park", "ROUNDS=1", HOLDS, "as it is; two words of the bell"),
    ("park", "BELLS=1 ROUNDS=1", HOLDS, "both clients on one word of the bell"),
    ("park", "ROUNDS=1 SOFTWARE_PARK", HOLDS, "a park that looks instead of a monitor"),
    ("park", "ROUNDS=1 SPURIOUS=2", HOLDS, "parks that end early"),
    ("park", "ROUNDS=1", ENDS, "no run goes on for ever"),
    ("park", "NO_PARK_RECHECK", HOLDS, "the bell alone compared after arming"),
    ("park", "NO_PARK_RECHECK BELLS=1", HOLDS, "the same, both clients on one word"),
    ("park", "NO_BELL_COMPARE", HOLDS, "the flags and words alone looked at after arming"),
    ("park", "NO_BELL_COMPARE NO_WORD_RECHECK", LOST, "of these, not the words"),
    ("park", "NO_BELL_COMPARE NO_FLAG_RECHECK", LOST, "of these, not the flags"),
    ("park", "COMPARED_BEFORE_ARMED", LOST, "all looked at first, then armed"),
    ("park", "NO_PARK_RECHECK COMPARED_BEFORE_ARMED", LOST, "bell alone; compared, then armed"),
    ("park", "NO_PARK_RECHECK BELL_COPIED_LATE", LOST, "bell alone; copied after the look"),
    ("park", "NO_PARK_RECHECK REPEATED_REQUEST_BELL", LOST, "bell alone; requests ring one value"),
    ("park", "NO_PARK_RECHECK REPEATED_DEVICE_BELL", LOST, "bell alone; devices ring one value"),
    ("park", "NO_PARK_RECHECK BELL_BEFORE_FLAG", LOST, "bell alone; rung before the flag is set"),
    ("park", "NO_REQUEST_BELL", LOST, "request without the bell"),
    ("park", "NO_DEVICE_BELL", LOST, "device without the bell"),
    ("park", "BELL_BEFORE_FLAG", LOST, "client rings, then sets its flag"),
    ("park", "DEVICE_BELL_BEFORE_WORD", LOST, "device rings, then stores"),
    ("park", "FLAG_BEFORE_TAIL", LOST, "client sets its flag, then moves the tail"),
    ("park", "SOFTWARE_PARK NO_BELL_COMPARE NO_REQUEST_BELL NO_DEVICE_BELL ROUNDS=1", HOLDS,
     "who looks needs no bell"),
    # Where a client's second look would find most losses, late, it is left out.
    ("sleep", "", HOLDS, "as it is"),
    ("sleep", "IO_URING ROUNDS=1", HOLDS, "the sleep of the io-uring executor"),
    ("sleep", "IO_URING SPURIOUS=2 ROUNDS=1", HOLDS, "and one that ends early, by its timer"),
    ("sleep", "SPURIOUS=2 ROUNDS=1", HOLDS, "sleeps that end early"),
    ("sleep", "ROUNDS=1", ENDS, "no run goes on for ever"),
    ("sleep", "NO_LOOK_AGAIN NO_CLIENT_FENCE ROUNDS=1", LOST, "client: no fence before the state is read"),
    ("sleep", "NO_LOOK_AGAIN NO_WAKER_FENCE", LOST, "gard's waker: no fence before the state is read"),
    ("sleep", "NO_LOOK_AGAIN NO_SLEEP_FENCE", LOST, "reactor: no fence after the announcement"),
    ("sleep", "NO_LOOK_AGAIN NO_SLEEP_RECHECK", LOST, "reactor: no look at requests after the announcement"),
    ("sleep", "NO_LOOK_AGAIN NO_SLEEP_RING_RECHECK", LOST, "reactor: no look at the clients' flags there"),
    ("sleep", "NO_LOOK_AGAIN FLAG_CLEARED_LATE", LOST, "reactor reads the tail, then clears the flag"),
    ("sleep", "NO_LOOK_AGAIN FLAG_CLEARED_PLAINLY", LOST, "reactor clears the flag by a plain store"),
    ("sleep", "NO_LOOK_AGAIN WAKE_ONCE NO_KICKS", LOST, "client wakes once and leaves"),
    ("sleep", "NO_LOOK_AGAIN WAKE_ONCE ROUNDS=1", HOLDS, "but not where it sends a message then"),
    ("sleep", "NO_LOOK_AGAIN NO_CLIENT_WAKE", LOST, "client does not wake"),
    ("sleep", "STRANGER ROUNDS=1", HOLDS, "another process sleeps on the state's word"),
    ("sleep", "STRANGER NO_LOOK_AGAIN ROUNDS=1", LOST, "the same; client does not look again"),
    ("sleep", "STRANGER NO_KICKS ROUNDS=1", LOST, "the same; looks again, and sends no message"),
    ("sleep", "STRANGER NO_LOOK_AGAIN WAKES_TILL_AWAKE ROUNDS=1", HOLDS,
     "the same; wakes until the state changed"),
    ("sleep", "NO_LOOK_AGAIN WAKER_LEAVES_STATE", LOST, "gard's waker does not change the state"),
    ("sleep", "NO_LOOK_AGAIN WAKER_WAKES_FIRST", LOST, "gard's waker wakes, then changes the state"),
    ("ring", "", HOLDS, "as it is; each client on the futex or on the pipe"),
    ("ring", "SPURIOUS=2 FUTEXES", HOLDS, "waits that end early"),
    ("ring", "", ENDS, "no run goes on for ever"),
    ("ring", "OTHER_THREAD FUTEXES", LOST, "the client raises the signal, which is gard's"),
    ("ring", "OTHER_THREAD FUTEXES SIGNAL_ADDED", HOLDS, "but where both add to it"),
    ("ring", "FUTEXES NO_PUBLISH_FENCE", LOST, "gard: no fence between tail and wants"),
    ("ring", "FUTEXES NO_BLOCK_FENCE", LOST, "client: no fence between wants and tail"),
    ("ring", "FUTEXES NO_TAIL_RECHECK", LOST, "client: tail not looked at again"),
    ("ring", "FUTEXES WANTS_NOT_SET", LOST, "client: wants not set"),
    ("ring", "FUTEXES WANTS_CLEARED_LATE", LOST, "gard: wants taken after the wake"),
    ("ring", "FUTEXES SIGNAL_READ_LATE", LOST, "client: signal read after the tail"),
    ("ring", "FUTEXES SIGNAL_NOT_RAISED", LOST, "gard: signal not raised"),
    ("ring", "FUTEXES SIGNAL_AFTER_WAKE", LOST, "gard: signal raised after the wake"),
    ("ring", "FUTEXES NO_FUTEX_WAKE", LOST, "gard: no wake"),
    ("ring", "PIPES NO_PUBLISH_FENCE", LOST, "pipe; gard: no fence"),
    ("ring", "PIPES NO_BLOCK_FENCE", LOST, "pipe; client: no fence"),
    ("ring", "PIPES NO_TAIL_RECHECK", LOST, "pipe; client: tail not looked at again"),
    ("ring", "PIPES WANTS_NOT_SET", LOST, "pipe; client: wants not set"),
    ("ring", "PIPES WANTS_CLEARED_LATE", LOST, "pipe; gard: wants taken after the byte"),
    ("ring", "PIPES PIPE_KEPT_WHERE_WANTED", SPINS, "pipe; emptied only where not wanted"),
    ("ring", "PIPES PIPE_DRAINED_LATE", LOST, "pipe; client: emptied after the look"),
    ("reader", "", HOLDS, "as it is"),
    ("reader", "", ENDS, "no run goes on for ever"),
    ("reader", "NOT_PASSED_ON", LOST, "reader leaves and wakes nobody"),
    ("reader", "HEIR_JUST_LEAVES", LOST, "who was woken to read leaves, and wakes nobody"),
    ("reader", "READER_LOOKS_WITHOUT_LOCK", LOST, "reader looks while another hands out its end"),
    ("reader", "READER_LOOKS_AT_RING_ONLY", LOST, "reader sleeps without a look at its mailbox"),
    ("whole", "", HOLDS, "all of it; one client on the futex, one on the pipe"),
    ("whole", "WITH_IO ROUNDS=2", HOLDS, "one client that waits twice, and a thread of gard"),
    ("whole", "WITH_IO", ENDS, "no run goes on for ever"),
    ("whole", "WITH_IO ENDED_UNSEEN", FALSE, "the reactor ends a wait without a look at the word"),
]

# Of these every step must have been taken.
COMPLETE = {("park", "ROUNDS=1"), ("sleep", ""), ("sleep", "IO_URING ROUNDS=1"), ("ring", ""),
            ("reader", "")}


class Failure(Exception):
    pass


def run(command, cwd, limit_s):
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=limit_s,
                              check=False)
    except subprocess.TimeoutExpired:
        raise Failure(f"{command[0]} ran longer than {limit_s} s") from None
    return done.returncode, done.stdout + done.stderr


def build(row, compiler, folder):
    model, definitions, expected, _ = row
    defined = [f"-D{d}" for d in definitions.split()]
    status, said = run(["spin", "-a", *defined, str(HERE / f"{model}.pml")], folder, 30)
    if status != 0 or "Error" in said or not (folder / "pan.c").is_file():
        raise Failure(f"spin refused it: {said.strip()[:500]}")
    # A loss is found long before the compiler's work pays.
    optimized = "-O1" if expected in (HOLDS, ENDS) else "-O0"
    kind = ["-DNP", "-DNOFAIR"] if expected in (ENDS, SPINS) else ["-DSAFETY"]
    status, said = run([compiler, optimized, "-w", *kind, f"-DMEMLIM={MEMORY_MIB}", "-o", "pan",
                        "pan.c"], folder, 120)
    if status != 0:
        raise Failure(f"the verifier does not compile: {said.strip()[:500]}")


def verify(expected, folder):
    """What the verifier found, the number of states, the steps of the model that never ran."""
    cycles = ["-l"] if expected in (ENDS, SPINS) else []
    _, said = run(["./pan", f"-m{DEPTH_MAX}", *cycles], folder, SECONDS_MAX)
    states = re.search(r"^\s*([0-9.e+]+) states, stored", said, re.M)
    errors = re.search(r"errors: (\d+)", said)
    fault = re.search(r"^pan:\d+: (.*) \(at depth", said, re.M)
    if not states or not errors:
        raise Failure(f"the verifier said: {said.strip()[:500]}")
    count = int(float(states.group(1)))
    never = [line.strip() for line in said.splitlines()
             if re.match(r"\s+\S+\.pml:\d+, state", line) and '"-end-"' not in line]
    if errors.group(1) == "0":
        if "max search depth too small" in said or "Search not completed" in said:
            raise Failure(f"the search was not complete after {count} states")
        return ENDS if cycles else HOLDS, count, never
    if fault and fault.group(1) == "invalid end state":
        return LOST, count, never
    if fault and fault.group(1) == "non-progress cycle":
        return SPINS, count, never
    # The other assertion is of the model itself: it counts the stores that a CPU can buffer.
    if fault and re.match(r"assertion violated (?!.*buffered)", fault.group(1)):
        return FALSE, count, never
    raise Failure(f"the verifier said: {said.strip()[:500]}")


def check(row, compiler):
    with tempfile.TemporaryDirectory() as folder:
        build(row, compiler, Path(folder))
        verdict, states, never = verify(row[2], Path(folder))
    # A model whose steps are not taken shows nothing.
    if never and row[:2] in COMPLETE and verdict == HOLDS:
        raise Failure(f"steps that never ran: {'; '.join(never)[:500]}")
    return verdict, states


def check_models(names):
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not shutil.which("spin"):
        print("skipped: no `spin` (Debian's package of that name)")
        return 77
    if not compiler:
        print("skipped: no C compiler for Spin's verifiers")
        return 77
    unknown = set(names) - {model for model, *_ in ROWS}
    if unknown:
        print(f"there is no model {', '.join(sorted(unknown))}")
        return 2
    wrong = 0
    began = time.monotonic()
    print(f"{'model':6} {'verdict':8} {'states':>10} {'s':>6}  definitions: what it is", flush=True)
    for row in ROWS:
        model, definitions, expected, what = row
        if names and model not in names:
            continue
        from_s = time.monotonic()
        try:
            verdict, states = check(row, compiler)
        except Failure as failure:
            verdict, states = f"none: {failure}", 0
        took_s = time.monotonic() - from_s
        mark = "" if verdict == expected else f"   WRONG: must be `{expected}`"
        wrong += bool(mark)
        print(f"{model:6} {verdict:8} {states:>10} {took_s:>6.1f}  "
              f"{definitions or '(none)'}: {what}{mark}", flush=True)
    print(f"{wrong} wrong, {time.monotonic() - began:.0f} s")
    return 1 if wrong else 0


def check_lines():
    """Every step has a row in README.md, and what the row names is in that file, once."""
    rows = re.findall(r"^\| ([a-z_, ]+) \| `([^`]+)` \| `([^`]+)` \|$",
                      (HERE / "README.md").read_text(encoding="utf-8"), re.M)
    wrong = []
    mapped = set()
    for steps, name, text in rows:
        mapped.update(steps.split(", "))
        file = ROOT / name
        found = file.read_text(encoding="utf-8").count(text) if file.is_file() else 0
        if found != 1:
            wrong.append(f"{name}: `{text}` of {steps} is there {found} times")
    steps = set()
    for model in ("steps.pml", "reader.pml"):
        text = (HERE / model).read_text(encoding="utf-8")
        steps.update(re.findall(r"^inline (\w+)\(", text, re.M))
    wrong += [f"{step} has no row in README.md" for step in sorted(steps - mapped)]
    wrong += [f"README.md: there is no step {step}" for step in sorted(mapped - steps)]
    print("\n".join([*wrong, f"{len(rows)} rows, {len(wrong)} wrong"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(check_lines() if sys.argv[1:] == ["--lines"] else check_models(sys.argv[1:]))
