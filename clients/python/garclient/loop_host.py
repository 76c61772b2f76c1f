"""Runs an owner's waits on an event loop: the steps of wait_driver.py, without a thread.

A park is a look at the word by a timer: soon at first, then after 1/32 of the time passed, never
longer than one park of the plan. `block` and `poll` are queries with growing pauses, since nothing
here may hold the loop up.

Threads: the loop's.
"""

from __future__ import annotations

import asyncio
import time
from typing import Generator, List, NamedTuple, Optional, Set

from .error_numbers import Closed
from .fine_timer import Alarm, FineTimer
from .memory import Word
from .sequence import reached
from .source import Source
from .wait_driver import PACE_FIRST_NS, Report, Step

_LOOK_FIRST_NS = 50_000
_PART_OF_WAIT = 32


class Sleeping:
    """What a stream's waits sleep on. Their owner may end it: they wake, and none sleeps again."""

    def __init__(self) -> None:
        self._news: Set[asyncio.Future[bool]] = set()
        self._is_ended = False

    def add(self, news: asyncio.Future[bool]) -> None:
        # One that was woken in the very turn in which they were ended comes here again.
        if self._is_ended:
            raise Closed("the stream")
        self._news.add(news)

    def discard(self, news: asyncio.Future[bool]) -> None:
        self._news.discard(news)

    def end(self) -> None:
        self._is_ended = True
        for news in self._news:
            if not news.done():
                news.set_exception(Closed("the stream"))


class _Watched(NamedTuple):
    word: Word
    target: int
    until_ns: int
    park_ns: int
    news: "asyncio.Future[bool]"


class LoopHost:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._timer = FineTimer(loop)
        self._watched: List[_Watched] = []
        self._expected_ns = 0
        self._look: Optional[Alarm] = None

    def close(self) -> None:
        self._timer.close()

    async def run(self, steps: Generator[Step, bool, Report], source: Source, sequence: int,
                  park_ns: int, sleeping: Sleeping) -> Report:
        try:
            step = next(steps)
            while True:
                answer = await self._do(step, source, sequence, park_ns, sleeping)
                step = steps.send(answer)
        except StopIteration as end:
            report: Report = end.value
            return report
        finally:
            steps.close()

    async def _do(self, step: Step, source: Source, sequence: int, park_ns: int,
                  sleeping: Sleeping) -> bool:
        if step.what == "query":
            return source.query(sequence)
        if step.what == "sleep":
            assert step.until_ns is not None
            await self.sleep_until(step.until_ns, sleeping)
            return False
        if step.what == "park":
            assert step.until_ns is not None
            word = source.binding_of(sequence).word
            return await self._arrived(word, sequence, step.until_ns, park_ns, sleeping)
        return await self.poll(source, sequence, step.until_ns, step.most_ns, sleeping)

    async def poll(self, source: Source, sequence: int, until_ns: Optional[int], most_ns: int,
                   sleeping: Sleeping) -> bool:
        """False: `until_ns` has come."""
        pause_ns = PACE_FIRST_NS
        while not source.query(sequence):
            now_ns = time.monotonic_ns()
            if until_ns is not None and now_ns >= until_ns:
                return False
            wake_ns = now_ns + pause_ns
            await self.sleep_until(wake_ns if until_ns is None else min(wake_ns, until_ns),
                                   sleeping)
            pause_ns = min(2 * pause_ns, max(most_ns, PACE_FIRST_NS))
        return True

    async def sleep_until(self, due_ns: int, sleeping: Sleeping) -> None:
        news: "asyncio.Future[bool]" = self._loop.create_future()

        def due() -> None:
            if not news.done():
                news.set_result(False)

        await _ended(news, sleeping, self._timer.call_at(due_ns, due))

    async def _arrived(self, word: Word, target: int, until_ns: int, park_ns: int,
                       sleeping: Sleeping) -> bool:
        if reached(word.load(), target):
            return True
        news: "asyncio.Future[bool]" = self._loop.create_future()
        watched = _Watched(word, target, until_ns, park_ns, news)
        self._watched.append(watched)
        self._expect()
        try:
            return await _ended(news, sleeping)
        finally:
            if watched in self._watched:
                self._watched.remove(watched)

    # ---- Looking at the words of all.

    def _expect(self) -> None:
        """There is reason to look soon."""
        self._expected_ns = time.monotonic_ns()
        if self._look is not None:
            self._look.cancel()
        self._look = self._timer.call_at(self._expected_ns + _LOOK_FIRST_NS, self._look_at_all)

    def _look_at_all(self) -> None:
        self._look = None
        now_ns = time.monotonic_ns()
        still: List[_Watched] = []
        for watched in self._watched:
            arrived = reached(watched.word.load(), watched.target)
            if not arrived and now_ns < watched.until_ns:
                still.append(watched)
            elif not watched.news.done():
                watched.news.set_result(arrived)
        if len(still) < len(self._watched):
            self._expected_ns = now_ns
        self._watched = still
        if not still:
            return
        pause_ns = max(_LOOK_FIRST_NS, (now_ns - self._expected_ns) // _PART_OF_WAIT)
        pause_ns = min(pause_ns, min(watched.park_ns for watched in still))
        due_ns = min(now_ns + pause_ns, min(watched.until_ns for watched in still))
        self._look = self._timer.call_at(due_ns, self._look_at_all)


async def _ended(news: "asyncio.Future[bool]", sleeping: Sleeping,
                 alarm: Optional[Alarm] = None) -> bool:
    try:
        sleeping.add(news)
        return await news
    finally:
        sleeping.discard(news)
        if alarm is not None:
            alarm.cancel()
