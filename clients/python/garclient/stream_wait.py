"""The waits of one stream: which plan each runs under, who runs it, and what is told of its end.

PROTOCOL.md, "Waits". A wait whose plan parks on the word goes to gard, and owner_wait.py is the
owner's half of it; any other, and any that gard does not take, runs here by wait_driver.py, on the
loop or on the thread that called. What ended here is told gard as an outcome.

Threads: the loop's for `run`; any for `begin` and `run_sync`.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Callable, Optional

from . import frames, thread_host
from .argument import checked_rows, checked_sequence, timeout_ns_of
from .closing import StreamEnd
from .error import GarError
from .error_numbers import LimitWaits
from .link import Link
from .owner_wait import DEADLINE_GRACE_NS, LIMIT, STALE, OwnerWait
from .pending_waits import PendingWait
from .plans import Plan
from .source import Binding, Source
from .text import checked_name
from .wait_driver import (IMMEDIATE, PARKED, SAMPLE_EXACT, SAMPLE_LATE, SAMPLE_NONE, Report,
                          run_wait, sample_of)

if TYPE_CHECKING:
    from .session import Session

_WAIT, _EARLY_WORD, _REFUSED = range(3)  # an outcome's `what`
_AGE_NS_MAX = 10_000_000_000
_PICKS_MAX = 3  # of a plan, for one wait


class Wait:
    """What one wait was asked, and under which plan it runs."""

    def __init__(self, sequence: int, timeout_ns: Optional[int], point: str, rows: int) -> None:
        self.sequence = sequence
        self.point = point
        self.rows = rows
        self.start_ns = time.monotonic_ns()
        self.timeout_ns = timeout_ns
        self.deadline_ns = None if timeout_ns is None else self.start_ns + timeout_ns
        self.plan = Plan("poll")
        self.generation = 0


class StreamWaits:
    def __init__(self, session: Session, source: Source, end: StreamEnd,
                 record: Callable[[], int]) -> None:
        """`record`: of the stream's work so far."""
        self._session = session
        self._source = source
        self._end = end
        self._record = record

    def begin(self, sequence: Optional[int], timeout_s: Optional[float], point: str,
              rows: Optional[int]) -> Wait:
        """Checks what was asked, and that it was recorded; None: records, if there is work."""
        checked_name("point", point)
        timeout_ns = timeout_ns_of(timeout_s)
        rows = self._session.published_rows if rows is None else checked_rows(rows)
        source = self._source
        if sequence is None:
            sequence = source.newest if source.idle() else self._record()
        sequence = checked_sequence(sequence)
        if sequence != source.newest or not source.is_confirmed(sequence):
            source.check_recorded(sequence)
        return Wait(sequence, timeout_ns, point, rows)

    def _pick(self, wait: Wait) -> None:
        plans = self._session.plans
        wait.plan, wait.generation = plans.select(wait.point, wait.rows), plans.generation

    async def run(self, wait: Wait) -> Report:
        """On the loop."""
        in_process = early = refused = False
        self._pick(wait)
        # `block` at the loop is queries anyway, so asking first costs it nothing.
        if wait.plan.park != "block" or self._source.word_is_authority:
            if self._query(wait):
                report = self._ended_here(wait, Report(IMMEDIATE), None, False)
                # Others of the loop have their turn, however many waits in a row are done already.
                await asyncio.sleep(0)
                return report
            for _ in range(_PICKS_MAX):
                at = self._source.binding_of(wait.sequence)
                link = self._link_for(wait, at)
                if link is None:
                    in_process = wait.plan.park == "flag" and not self._source.stores_nothing
                    break
                # A word that is there while the device says pending came early.
                early = not self._source.word_is_authority and self._source.stored(wait.sequence)
                if early:
                    break
                machine = await self._run_at_gard(link, at, wait)
                if not machine.left:
                    return self._ended_at_gard(link, wait, machine)
                if machine.leaving != STALE:
                    refused = machine.leaving == LIMIT
                    in_process = not refused
                    break
                self._pick(wait)
        return await self._run_here(wait, in_process=in_process, early=early, refused=refused)

    def run_sync(self, wait: Wait) -> Report:
        """On the calling thread, whatever thread it is."""
        self._pick(wait)
        if self._source.stores_nothing and wait.plan.park == "flag":
            wait.plan = Plan("poll")
        sleep_ns = self._sleep_ns(wait)
        steps = run_wait(wait.plan, sleep_ns, wait.start_ns, wait.deadline_ns, time.monotonic_ns)
        try:
            spins = wait.plan.park == "poll" and not self._source.stores_nothing
            report = thread_host.run_here(steps, self._source, wait.sequence, wait.plan.park_ns,
                                          spins)
        except GarError as error:
            self._ended_here(wait, Report(), error, False)
            raise
        self._ended_here(wait, report, None, False)
        return report

    # ---- A wait that gard runs.

    def _link_for(self, wait: Wait, at: Binding) -> Optional[Link]:
        """Where the wait goes; None: it runs here."""
        link = at.link
        if link is None or not link.alive or link.silent or self._source.stores_nothing:
            return None
        return link if wait.plan.park == "flag" or self._source.word_is_authority else None

    async def _run_at_gard(self, link: Link, at: Binding, wait: Wait) -> OwnerWait:
        now_ns = time.monotonic_ns()
        machine = OwnerWait(wait.plan, wait.start_ns, wait.deadline_ns, now_ns)
        pending = PendingWait(machine, self._source, at.stream, wait.sequence)
        timeout_ns = 0 if wait.timeout_ns is None else max(1, wait.timeout_ns)
        link.register(pending, frames.Wait(
            0, wait.sequence, min(now_ns - wait.start_ns, _AGE_NS_MAX), timeout_ns,
            wait.generation, at.stream, at.stream_generation, 0, wait.rows), wait.point)
        try:
            while True:
                todo = machine.next(time.monotonic_ns())
                if todo.what == "sleep":
                    await self._news(pending, todo.until_ns, wait.deadline_ns)
                elif todo.what == "ask":
                    pending.ask()
                else:
                    break
        except BaseException:
            link.cancel(pending)
            raise
        if machine.cancel_at_gard:
            link.cancel(pending)
        return machine

    async def _news(self, pending: PendingWait, until_ns: int, deadline_ns: Optional[int]) -> None:
        """Until there is news, or it is time; the link itself looks whether gard is silent."""
        loop = self._session.loop
        if not pending.machine.at_gard:
            await self._session.host.sleep_until(until_ns, self._end.sleeping)
            return
        news: "asyncio.Future[bool]" = loop.create_future()
        self._end.sleeping.add(news)
        pending.news = news
        timer = None
        if deadline_ns is not None:
            left_ns = max(0, deadline_ns + DEADLINE_GRACE_NS - time.monotonic_ns())
            timer = loop.call_later(left_ns / 1e9, pending.give_news)
        try:
            await news
        finally:
            if timer is not None:
                timer.cancel()
            self._end.sleeping.discard(news)
            pending.news = None

    def _ended_at_gard(self, link: Link, wait: Wait, machine: OwnerWait) -> Report:
        session, report = self._session, machine.report
        report.wait_ns = time.monotonic_ns() - wait.start_ns
        report.in_process = not report.delegated
        with session.lock:
            session.counters.waits += 1
            session.counters.delegated += report.delegated
            session.counters.in_process += report.in_process
            session.counters.early_words += report.early_words
            session.counters.owner_backstops += machine.owner_backstop
        if machine.owner_backstop:
            link.silent = True
        if report.early_words:
            self._report(wait, _EARLY_WORD, Report(), 0)
        if machine.failure is not None:
            raise machine.failure
        return report

    # ---- A wait that is run here.

    def _query(self, wait: Wait) -> bool:
        try:
            return self._source.query(wait.sequence)
        except GarError as error:
            self._ended_here(wait, Report(), error, False)
            raise

    async def _run_here(self, wait: Wait, *, in_process: bool, early: bool,
                        refused: bool) -> Report:
        plan = wait.plan
        if self._source.stores_nothing and plan.park == "flag":
            plan = Plan("poll")
        if early:
            self._report(wait, _EARLY_WORD, Report(), 0)
        if refused:
            with self._session.lock:
                self._session.counters.limit_refused += 1
            self._report(wait, _REFUSED, Report(), LimitWaits.number)
        steps = run_wait(plan, self._sleep_ns(wait), wait.start_ns, wait.deadline_ns,
                         time.monotonic_ns, asked=True, early=early)
        try:
            report = await self._session.host.run(steps, self._source, wait.sequence, plan.park_ns,
                                                 self._end.sleeping)
        except GarError as error:
            self._ended_here(wait, Report(), error, in_process)
            raise
        return self._ended_here(wait, report, None, in_process)

    def _sleep_ns(self, wait: Wait) -> int:
        with self._session.lock:
            return self._session.estimates.of(self._point_of(wait)).sleep_ns(wait.plan.predict)

    def _point_of(self, wait: Wait) -> object:
        return wait.point or self._source

    def _ended_here(self, wait: Wait, report: Report, failure: Optional[GarError],
                    in_process: bool) -> Report:
        session = self._session
        report.wait_ns = time.monotonic_ns() - wait.start_ns
        report.in_process = in_process
        with session.lock:
            session.counters.waits += 1
            session.counters.in_process += in_process
            session.counters.early_words += report.early_words
            estimate = session.estimates.of(self._point_of(wait))
            sample = SAMPLE_NONE if failure is not None else sample_of(report.kind)
            if sample == SAMPLE_EXACT:
                estimate.exact(report.wait_ns)
            elif sample == SAMPLE_LATE:
                estimate.late(report.wait_ns, wait.plan.predict.window if wait.plan.predict else 1)
        self._report(wait, _WAIT, report, failure.number if failure else 0)
        return report

    def _report(self, wait: Wait, what: int, report: Report, code: int) -> None:
        self._session.post(self._report_on_loop, wait, what, report, code)

    def _report_on_loop(self, wait: Wait, what: int, report: Report, code: int) -> None:
        if self._end.is_begun:
            return
        at = self._source.current
        if at.link is None or not at.link.alive:
            return
        sample = sample_of(report.kind) if what == _WAIT and code == 0 else SAMPLE_NONE
        at.link.report(frames.Outcome(
            report.wait_ns, report.slept_ns, report.wait_ns if sample else 0, at.stream,
            at.stream_generation, at.link.number_of(wait.point), report.parks,
            report.backstop_queries, wait.rows, code, what,
            report.kind if code == 0 else PARKED, sample))
