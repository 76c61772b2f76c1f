"""One stream: recording behind its work, and awaiting what was recorded.

A record enqueues, behind the stream's work so far, the store of the next sequence number into a
word of shared memory. A wait sleeps until that work is nearly done, and returns only after the
device itself said that it is done.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from types import TracebackType
from typing import TYPE_CHECKING, Optional, Type

from . import frames, thread_host
from .argument import checked_rows, checked_sequence, timeout_ns_of
from .error import GarError
from .error_numbers import Closed, LimitWaits
from .link import Link, PendingWait
from .loop_host import Sleeping
from .memory import Word
from .owner_wait import DEADLINE_GRACE_NS, LIMIT, STALE, OwnerWait
from .plans import Plan
from .source import Binding, Source
from .text import checked_name
from .wait_driver import (IMMEDIATE, PACE_MOST_NS, PARKED, SAMPLE_EXACT, SAMPLE_LATE, SAMPLE_NONE,
                          Report, run_wait, sample_of)

if TYPE_CHECKING:
    from .client import Client

_WAIT, _EARLY_WORD, _REFUSED = range(3)  # an outcome's `what`
_AGE_NS_MAX = 10_000_000_000
_PICKS_MAX = 3  # of a plan, for one wait


class _Wait:
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


class Stream:
    """Opened by `Client.stream` and `Client.word_stream`. `async with` closes it."""

    def __init__(self, client: Client, source: Source, handle: object) -> None:
        self.source = source
        self.name = source.name
        self._client = client
        self._handle = handle  # a framework's object must live as long as its stream is used
        self._closing: Optional[asyncio.Task[None]] = None
        self._sleeping = Sleeping()

    # ---- Recording. Any thread.

    def record(self) -> int:
        """Records the stream's work so far and gives its number. At most 256 that are not known to
        be done. Never waits for the device. Errors: LimitRecords, StreamFailed, Backend; of CUDA
        and HIP also Capturing, NoDomain and ForeignStream, which leave the stream as it is."""
        self._check()
        self._want_link()
        sequence = self.source.record()
        if self.source.bindings > 1:
            self._client.post(self._let_go_settled)
        return sequence

    def signal(self, sequence: int) -> None:
        """Stores a word stream's number, which completes every number up to it."""
        self._check()
        self.source.signal(checked_sequence(sequence))

    def query(self, sequence: int) -> bool:
        """Is the work recorded under this number done? Asks the device; never blocks."""
        self._check()
        sequence = checked_sequence(sequence)
        self.source.check_recorded(sequence)
        return self.source.query(sequence)

    @property
    def word(self) -> Word:
        """Where the next number is stored, for a producer that is not this process: `page.fd` and
        `offset_bytes`. It is another one once a gard was lost or found."""
        return self.source.current.word

    @property
    def warning(self) -> str:
        """Why the stream is not served as the plan asks (its device stores no words, so waits
        ask); else empty."""
        device = self.source.device
        return device.no_stores if device is not None else ""

    # ---- Waiting.

    async def wait(self, sequence: Optional[int] = None, *, timeout: Optional[float] = None,
                   point: str = "", rows: Optional[int] = None) -> Report:
        """Waits until the work recorded under `sequence` is done; None: all work so far.

        `timeout` in seconds. `point`: the call site, by which waits are estimated; else the stream.
        Cancelling the task cancels the wait. The loop's thread only. Errors: TimedOut (which is an
        asyncio.TimeoutError), Backend, StreamFailed, InvalidArgument (never recorded), Closed.
        """
        self._check(on_loop=True)
        wait = self._begin(sequence, timeout, point, rows)
        self._want_link()
        return await self._run(wait)

    def wait_sync(self, sequence: Optional[int] = None, *, timeout: Optional[float] = None,
                  point: str = "", rows: Optional[int] = None) -> Report:
        """The same, blocking the calling thread, which runs the plan by itself; any thread. On the
        loop's it holds up the loop."""
        self._check()
        wait = self._begin(sequence, timeout, point, rows)
        self._want_link()
        self._pick(wait)
        if self.source.stores_nothing and wait.plan.park == "flag":
            wait.plan = Plan("poll")
        sleep_ns = self._sleep_ns(wait)
        steps = run_wait(wait.plan, sleep_ns, wait.start_ns, wait.deadline_ns, time.monotonic_ns)
        try:
            report = thread_host.run_here(steps, self.source, wait.sequence, wait.plan.park_ns,
                                          wait.plan.park == "poll" and not self.warning)
        except GarError as error:
            self._ended_here(wait, Report(), error, False)
            raise
        self._ended_here(wait, report, None, False)
        return report

    def _begin(self, sequence: Optional[int], timeout_s: Optional[float], point: str,
               rows: Optional[int]) -> _Wait:
        checked_name("point", point)
        timeout_ns = timeout_ns_of(timeout_s)
        rows = self._client.published_rows if rows is None else checked_rows(rows)
        source = self.source
        if sequence is None:
            sequence = source.newest if source.idle() else self.record()
        sequence = checked_sequence(sequence)
        if sequence != source.newest or not source.is_confirmed(sequence):
            source.check_recorded(sequence)
        return _Wait(sequence, timeout_ns, point, rows)

    def _pick(self, wait: _Wait) -> None:
        plans = self._client.plans
        wait.plan, wait.generation = plans.select(wait.point, wait.rows), plans.generation

    async def _run(self, wait: _Wait) -> Report:
        in_process = early = refused = False
        self._pick(wait)
        # `block` at the loop is queries anyway, so asking first costs it nothing.
        if wait.plan.park != "block" or self.source.word_is_authority:
            if self._query(wait):
                report = self._ended_here(wait, Report(IMMEDIATE), None, False)
                # Others of the loop have their turn, however many waits in a row are done already.
                await asyncio.sleep(0)
                return report
            for _ in range(_PICKS_MAX):
                at = self.source.binding_of(wait.sequence)
                link = self._link_for(wait, at)
                if link is None:
                    in_process = wait.plan.park == "flag" and not self.source.stores_nothing
                    break
                # A word that is there while the device says pending came early.
                early = not self.source.word_is_authority and self.source.stored(wait.sequence)
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

    # ---- A wait that gard runs.

    def _link_for(self, wait: _Wait, at: Binding) -> Optional[Link]:
        """Where the wait goes; None: it runs here."""
        link = at.link
        if link is None or not link.alive or link.silent or self.source.stores_nothing:
            return None
        return link if wait.plan.park == "flag" or self.source.word_is_authority else None

    async def _run_at_gard(self, link: Link, at: Binding, wait: _Wait) -> OwnerWait:
        now_ns = time.monotonic_ns()
        machine = OwnerWait(wait.plan, wait.start_ns, wait.deadline_ns, now_ns)
        pending = PendingWait(machine, self.source, at.stream, wait.sequence)
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
        loop = self._client.loop
        if not pending.machine.at_gard:
            await self._client.host.sleep_until(until_ns, self._sleeping)
            return
        news: "asyncio.Future[bool]" = loop.create_future()
        self._sleeping.add(news)
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
            self._sleeping.discard(news)
            pending.news = None

    def _ended_at_gard(self, link: Link, wait: _Wait, machine: OwnerWait) -> Report:
        client, report = self._client, machine.report
        report.wait_ns = time.monotonic_ns() - wait.start_ns
        report.in_process = not report.delegated
        with client.lock:
            client.counters.waits += 1
            client.counters.delegated += report.delegated
            client.counters.in_process += report.in_process
            client.counters.early_words += report.early_words
            client.counters.owner_backstops += machine.owner_backstop
        if machine.owner_backstop:
            link.silent = True
        if report.early_words:
            self._report(wait, _EARLY_WORD, Report(), 0)
        if machine.failure is not None:
            raise machine.failure
        return report

    # ---- A wait that is run here.

    def _query(self, wait: _Wait) -> bool:
        try:
            return self.source.query(wait.sequence)
        except GarError as error:
            self._ended_here(wait, Report(), error, False)
            raise

    async def _run_here(self, wait: _Wait, *, in_process: bool, early: bool,
                        refused: bool) -> Report:
        plan = wait.plan
        if self.source.stores_nothing and plan.park == "flag":
            plan = Plan("poll")
        if early:
            self._report(wait, _EARLY_WORD, Report(), 0)
        if refused:
            with self._client.lock:
                self._client.counters.limit_refused += 1
            self._report(wait, _REFUSED, Report(), LimitWaits.number)
        steps = run_wait(plan, self._sleep_ns(wait), wait.start_ns, wait.deadline_ns,
                         time.monotonic_ns, asked=True, early=early)
        try:
            report = await self._client.host.run(steps, self.source, wait.sequence, plan.park_ns,
                                                 self._sleeping)
        except GarError as error:
            self._ended_here(wait, Report(), error, in_process)
            raise
        return self._ended_here(wait, report, None, in_process)

    def _sleep_ns(self, wait: _Wait) -> int:
        with self._client.lock:
            return self._client.estimates.of(self._point_of(wait)).sleep_ns(wait.plan.predict)

    def _point_of(self, wait: _Wait) -> object:
        return wait.point or self.source

    def _ended_here(self, wait: _Wait, report: Report, failure: Optional[GarError],
                    in_process: bool) -> Report:
        client = self._client
        report.wait_ns = time.monotonic_ns() - wait.start_ns
        report.in_process = in_process
        with client.lock:
            client.counters.waits += 1
            client.counters.in_process += in_process
            client.counters.early_words += report.early_words
            estimate = client.estimates.of(self._point_of(wait))
            sample = SAMPLE_NONE if failure is not None else sample_of(report.kind)
            if sample == SAMPLE_EXACT:
                estimate.exact(report.wait_ns)
            elif sample == SAMPLE_LATE:
                estimate.late(report.wait_ns, wait.plan.predict.window if wait.plan.predict else 1)
        self._report(wait, _WAIT, report, failure.number if failure else 0)
        return report

    def _report(self, wait: _Wait, what: int, report: Report, code: int) -> None:
        self._client.post(self._report_on_loop, wait, what, report, code)

    def _report_on_loop(self, wait: _Wait, what: int, report: Report, code: int) -> None:
        if self._closing is not None:
            return
        at = self.source.current
        if at.link is None or not at.link.alive:
            return
        sample = sample_of(report.kind) if what == _WAIT and code == 0 else SAMPLE_NONE
        at.link.report(frames.Outcome(
            report.wait_ns, report.slept_ns, report.wait_ns if sample else 0, at.stream,
            at.stream_generation, at.link.number_of(wait.point), report.parks,
            report.backstop_queries, wait.rows, code, what,
            report.kind if code == 0 else PARKED, sample))

    # ---- The end.

    async def close(self) -> None:
        """Waits until what was recorded is done, then gives the place back. Waits still pending end
        with Closed. It is closed once, and that goes on where whoever awaits it is cancelled: every
        call awaits the same end. SettleFailed: the device could not say that its stores have
        landed, so its pages stay until the process ends; the stream is closed all the same."""
        if self._closing is None or not self._closing.done():
            self._client.check_loop()
        await asyncio.shield(self.begin_to_close())

    def begin_to_close(self) -> asyncio.Task[None]:
        if self._closing is None:
            self._closing = self._client.end_of(self, self._close())
            self._sleeping.end()
        return self._closing

    async def _close(self) -> None:
        source = self.source
        await self._settled()
        try:
            source.settle()
        except GarError:
            self._client.leak(source)
            raise
        self._client.let_go(source, source.let_go())
        while source.asking:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(PACE_MOST_NS / 1e9)
        source.close_device()

    async def _settled(self) -> None:
        # Without holding the loop up. A loop that ends cancels all of its tasks, but no work.
        source = self.source
        while source.device is not None and not source.is_confirmed(source.newest):
            try:
                await self._client.host.poll(source, source.newest, None, PACE_MOST_NS, Sleeping())
            except asyncio.CancelledError:
                continue
            except GarError:
                return  # what a device that failed says is for `settle` to say again

    async def __aenter__(self) -> Stream:
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        try:
            await self.close()
        except GarError:
            if error is None:
                raise

    # ---- Inside.

    def _check(self, *, on_loop: bool = False) -> None:
        if self._closing is not None:
            raise Closed("the stream")
        self._client.check(on_loop=on_loop)

    def _want_link(self) -> None:
        link = self.source.current.link
        if link is None or not link.alive:
            self._client.want_link()

    def _let_go_settled(self) -> None:
        self._client.let_go(self.source, self.source.take_settled())
