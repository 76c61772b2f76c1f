"""The owner's half of a wait that gard runs.

PROTOCOL.md, "Waits". gard watches the word, the owner asks the device; neither can end the wait
alone. This machine says at each moment what the owner must do:

    at gard --word arrived-----------> ask: done -> ended; pending -> early
            --owner's probe said done-> ended
            --failed, or timed out----> ask: done or failed -> ended; pending -> early
            --silent for too long-----> ask: done or failed -> ended, cancel; pending -> at gard
            --deadline----------------> ask: done -> ended, pending -> TimedOut; cancel
            --refused or lost---------> leave: goes on without gard, or is registered again
    early   ask, 20 us, ask, 40 us, ask ... backstop, ask ...

Success, failure and time are only what the authority and the clock said here. A target whose word
came early is never registered again. Pure; time comes in.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from .error import GarError
from .error_numbers import BY_NUMBER, Backend, StalePlan, TimedOut
from .frames import Completion
from .plans import Plan
from .wait_driver import PACE_FIRST_NS, PARKED, Kind, Report, timed_out

# gard has the same deadline. Its own answer is worth this little time: it counts what it ends.
DEADLINE_GRACE_NS = 2_000_000

LOST, LIMIT, STALE = "lost", "limit", "stale"


class Todo(NamedTuple):
    """sleep (until `until_ns`, or until there is news), ask, end or leave."""
    what: str
    until_ns: int = 0


class OwnerWait:
    def __init__(self, plan: Plan, start_ns: int, deadline_ns: Optional[int],
                 registered_ns: int) -> None:
        self.report = Report()
        self.failure: Optional[GarError] = None
        self.leaving = LOST
        self.cancel_at_gard = False
        self.owner_backstop = False
        self._start_ns = start_ns
        self._deadline_ns = deadline_ns
        self._silence_ns = plan.silence_ns
        self._silent_ns = registered_ns + plan.silence_ns
        self._pause_most_ns = max(plan.backstop_ns, PACE_FIRST_NS)
        self._pause_ns = PACE_FIRST_NS
        self._look_ns = 0
        self._state = "at gard"
        self._asking = ""
        self._arrival = "word"

    @property
    def at_gard(self) -> bool:
        """Is there news of gard to come?"""
        return self._state == "at gard"

    @property
    def left(self) -> bool:
        """It goes on without gard, or is registered again: `leaving` says."""
        return self._state == "left"

    # ---- News. Only the first completion, refusal or loss counts.

    def heard(self, now_ns: int) -> None:
        self._silent_ns = max(self._silent_ns, now_ns + self._silence_ns)

    def completed(self, entry: Completion, confirmed: bool) -> None:
        """`confirmed` is what the owner knows, not what gard claims."""
        if not self.at_gard:
            return
        if entry.code not in (0, Backend.number, TimedOut.number):
            self.refused(entry.code)
            return
        report = self.report
        report.kind, report.slept_ns, report.parks = Kind(entry.kind), entry.slept_ns, entry.parks
        report.backstop_queries = entry.backstop_queries
        report.delegated = True
        if entry.code == 0 and entry.confirmed and confirmed:
            self._end(report.kind)
            return
        self._arrival = "word" if entry.code == 0 else "claim"
        self._state = "arrived"

    def refused(self, code: int) -> None:
        if not self.at_gard:
            return
        known = BY_NUMBER.get(code)
        if known is not None and known.category == "limit":
            self._leave(LIMIT)
        elif code == StalePlan.number:
            self._leave(STALE)
        else:
            self._leave(LOST)

    def lost(self) -> None:
        if self.at_gard:
            self._leave(LOST)

    # ---- What to do, and what came of it.

    def next(self, now_ns: int) -> Todo:
        late = self._deadline_ns is not None and now_ns >= self._deadline_ns
        if self._state == "ended":
            return Todo("end")
        if self._state == "left":
            return Todo("leave")
        if self._state == "arrived":
            return self._ask("deadline" if late else self._arrival)
        if self._state == "early":
            if late or now_ns >= self._look_ns:
                return self._ask("deadline" if late else "pace")
            return Todo("sleep", self._bounded(self._look_ns, 0))
        last_ns = self._bounded(1 << 63, DEADLINE_GRACE_NS)
        if now_ns >= last_ns:
            return self._ask("deadline")
        if now_ns >= self._silent_ns:
            return self._ask("silence")
        return Todo("sleep", min(self._silent_ns, last_ns))

    def failed(self, why: GarError) -> None:
        """The authority's answer to an ask."""
        if self._state in ("ended", "left"):
            return
        self.cancel_at_gard = self.at_gard
        self.owner_backstop = self._asking == "silence"
        self._fail(why)

    def answered(self, done: bool, now_ns: int) -> None:
        """The authority's answer to an ask."""
        # News that came between question and answer does not unmake the answer.
        if self._state in ("ended", "left"):
            return
        why, self._asking = self._asking, ""
        if done:
            self.cancel_at_gard = self.at_gard
            self.owner_backstop = why == "silence"
            self._end(self.report.kind if self._state == "arrived" else PARKED)
        elif why == "deadline":
            if self._state == "arrived" and self._arrival == "word":
                self.report.early_words += 1
            self.cancel_at_gard = self.at_gard
            assert self._deadline_ns is not None
            self._fail(timed_out(self._start_ns, self._deadline_ns))
        elif why == "silence":
            self._silent_ns = now_ns + self._silence_ns
        else:
            if why == "word":
                self.report.early_words += 1
            self._state = "early"
            self._look_ns = now_ns + self._pause()

    def _ask(self, why: str) -> Todo:
        self._asking = why
        return Todo("ask")

    def _bounded(self, until_ns: int, grace_ns: int) -> int:
        return until_ns if self._deadline_ns is None else min(until_ns,
                                                              self._deadline_ns + grace_ns)

    def _pause(self) -> int:
        pause, self._pause_ns = self._pause_ns, min(2 * self._pause_ns, self._pause_most_ns)
        return pause

    def _end(self, kind: Kind) -> None:
        self.report.kind = kind
        self._state = "ended"

    def _fail(self, why: GarError) -> None:
        self.failure = why
        self._state = "ended"

    def _leave(self, why: str) -> None:
        self.leaving = why
        self._state = "left"
