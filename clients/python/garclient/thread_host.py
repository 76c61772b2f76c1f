"""Runs an owner's wait on the calling thread: the steps of wait_driver.py, blocking.

`block` is the device's own blocking wait where it has one. A park looks at the word between short
sleeps that grow with the time passed, never longer than one park of the plan.

Threads: any; the interpreter's lock is let go while it sleeps or the driver waits.
"""

from __future__ import annotations

import time
from typing import Generator, Optional

from .sequence import reached
from .source import Source
from .wait_driver import PACE_FIRST_NS, Report, Step

_LOOK_FIRST_NS = 20_000
_PART_OF_WAIT = 32


def run_here(steps: Generator[Step, bool, Report], source: Source, sequence: int, park_ns: int,
             spins: bool) -> Report:
    """`spins`: a poll asks without a pause."""
    try:
        step = next(steps)
        while True:
            step = steps.send(_do(step, source, sequence, park_ns, spins))
    except StopIteration as end:
        report: Report = end.value
        return report
    finally:
        steps.close()


def _do(step: Step, source: Source, sequence: int, park_ns: int, spins: bool) -> bool:
    if step.what == "query":
        return source.query(sequence)
    if step.what == "sleep":
        assert step.until_ns is not None
        _sleep_until(step.until_ns)
        return False
    if step.what == "park":
        assert step.until_ns is not None
        return _park(source, sequence, step.until_ns, park_ns)
    if step.what == "block":
        done = source.block(sequence, _left_ns(step.until_ns))
        if done is not None:
            return done
    return _poll(source, sequence, step, spins and step.what == "poll")


def _poll(source: Source, sequence: int, step: Step, spins: bool) -> bool:
    pause_ns = PACE_FIRST_NS
    while not source.query(sequence):
        left_ns = _left_ns(step.until_ns)
        if left_ns == 0:
            return False
        if spins:
            time.sleep(0)  # other threads of the interpreter have their turn
            continue
        time.sleep((pause_ns if left_ns is None else min(pause_ns, left_ns)) / 1e9)
        pause_ns = min(2 * pause_ns, max(step.most_ns, PACE_FIRST_NS))
    return True


def _park(source: Source, sequence: int, until_ns: int, park_ns: int) -> bool:
    word = source.binding_of(sequence).word
    begun_ns = time.monotonic_ns()
    while not reached(word.load(), sequence):
        now_ns = time.monotonic_ns()
        if now_ns >= until_ns:
            return False
        pause_ns = max(_LOOK_FIRST_NS, (now_ns - begun_ns) // _PART_OF_WAIT)
        time.sleep(min(pause_ns, park_ns, until_ns - now_ns) / 1e9)
    return True


def _sleep_until(due_ns: int) -> None:
    left_ns = due_ns - time.monotonic_ns()
    if left_ns > 0:
        time.sleep(left_ns / 1e9)


def _left_ns(until_ns: Optional[int]) -> Optional[int]:
    return None if until_ns is None else max(0, until_ns - time.monotonic_ns())
