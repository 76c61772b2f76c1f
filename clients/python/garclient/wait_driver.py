"""One wait, run by its owner: the only place where the order of query, sleep, park and backstop is
written.

    block            block                                               -> blocked, no sample
    otherwise        query: done                                         -> immediate, exact
      a sleep asked  sleep to start + sleep, query: done                 -> late
      poll           poll                                                -> parked, exact
      flag           park ... one query every backstop ... query to done -> parked, exact

A sleep that would end before it could begin is none: nothing overslept, so the sample is exact.

The driver is a generator: it yields a `Step`, and whoever hosts it (an event loop's task, or a
blocked thread) does it and sends back the answer. The word only wakes: success is what the
authority said. Time comes in with the clock. Pure but for that.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Callable, Generator, NamedTuple, Optional

from .error_numbers import TimedOut
from .plans import Plan

SAMPLE_NONE, SAMPLE_EXACT, SAMPLE_LATE = range(3)

PACE_FIRST_NS = 20_000
PACE_MOST_NS = 1_000_000


class Step(NamedTuple):
    """`what` is query, block, poll, sleep or park. `until_ns` bounds the last two, and the others
    where there is a deadline. `most_ns` is a poll's longest pause. Of a sleep no answer counts;
    the others answer: done, or (park) the word is there."""
    what: str
    until_ns: Optional[int] = None
    most_ns: int = PACE_MOST_NS


class Kind(IntEnum):
    """How a wait found that its work was done; each equals its number on the wire."""
    BLOCKED = 0  # the device's own blocking wait said so
    IMMEDIATE = 1  # the first query did
    LATE = 2  # the query behind the predicted sleep did: perhaps it slept too long
    PARKED = 3  # it was seen pending, then done

    def __str__(self) -> str:  # Python's own differs from version to version
        return str(int(self))


BLOCKED, IMMEDIATE, LATE, PARKED = Kind.BLOCKED, Kind.IMMEDIATE, Kind.LATE, Kind.PARKED


@dataclass
class Report:
    """How a wait ended."""
    kind: Kind = PARKED
    wait_ns: int = 0  # all of it
    slept_ns: int = 0  # of it, in the predicted sleep
    parks: int = 0
    backstop_queries: int = 0  # of the device, since no word had come for so long
    early_words: int = 0  # the word came before the device said done
    delegated: bool = False  # gard waited, and said when
    in_process: bool = False  # no gard did, though the plan parks

    @property
    def kind_name(self) -> str:
        """"blocked", "immediate", "late" or "parked"."""
        return self.kind.name.lower()


def sample_of(kind: Kind) -> int:
    """What the time that such a wait took says to estimates."""
    if kind == BLOCKED:
        return SAMPLE_NONE
    return SAMPLE_LATE if kind == LATE else SAMPLE_EXACT


def timed_out(start_ns: int, deadline_ns: int) -> TimedOut:
    return TimedOut(_duration_text(deadline_ns - start_ns))


def _duration_text(ns: int) -> str:
    """In the largest unit that says it exactly."""
    for factor, name in ((10**9, "s"), (10**6, "ms"), (10**3, "us")):
        if ns and ns % factor == 0:
            return f"{ns // factor}{name}"
    return f"{ns}ns"


def run_wait(plan: Plan, sleep_ns: int, start_ns: int, deadline_ns: Optional[int],
             clock_ns: Callable[[], int], *, asked: bool = False,
             early: bool = False) -> Generator[Step, bool, Report]:
    """`asked`: the first query was made and said pending. `early`: and the word was there."""
    report = Report()

    def ended(kind: Kind) -> Report:
        report.kind = kind
        report.wait_ns = clock_ns() - start_ns
        return report

    if plan.park == "block":
        if not (yield Step("block", deadline_ns)):
            raise _late(start_ns, deadline_ns)
        return ended(BLOCKED)
    if not asked and (yield Step("query")):
        return ended(IMMEDIATE)
    slept_from = clock_ns()
    sleep_until_ns = _earlier(start_ns + sleep_ns, deadline_ns)
    if sleep_until_ns > slept_from and not early:
        yield Step("sleep", sleep_until_ns)
        report.slept_ns = clock_ns() - slept_from
        if (yield Step("query")):
            return ended(LATE)
    if plan.park == "flag" and not early:
        if (yield from _park(plan, start_ns, deadline_ns, clock_ns, report)):
            return ended(PARKED)
        report.early_words += 1
    elif early:
        report.early_words += 1
    most_ns = plan.backstop_ns if plan.park == "flag" else PACE_MOST_NS
    if not (yield Step("poll", deadline_ns, most_ns)):
        raise _late(start_ns, deadline_ns)
    return ended(PARKED)


def _park(plan: Plan, start_ns: int, deadline_ns: Optional[int],
          clock_ns: Callable[[], int], report: Report) -> Generator[Step, bool, bool]:
    """False: the word is there and the authority said pending."""
    backstop_ns = clock_ns() + plan.backstop_ns
    while True:
        arrived = yield Step("park", _earlier(backstop_ns, deadline_ns))
        report.parks += 1
        now_ns = clock_ns()
        late = deadline_ns is not None and now_ns >= deadline_ns
        if not arrived and not late and now_ns < backstop_ns:
            continue
        if not arrived and not late:
            report.backstop_queries += 1
            backstop_ns = now_ns + plan.backstop_ns
        if (yield Step("query")):
            return True
        if late:
            raise _late(start_ns, deadline_ns)
        if arrived:
            return False


def _late(start_ns: int, deadline_ns: Optional[int]) -> TimedOut:
    return timed_out(start_ns, deadline_ns if deadline_ns is not None else start_ns)


def _earlier(until_ns: int, deadline_ns: Optional[int]) -> int:
    return until_ns if deadline_ns is None else min(until_ns, deadline_ns)
