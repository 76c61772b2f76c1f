"""The waits of one link that gard runs, from their registration to their end.

    registered --completed or refused--> gone
               --cancelled--> orphan --gard has ended it too--> gone

A stream with orphans is not closed at gard before they have gone: its slot may be given to another
stream, whose waits they must not meet. Those registered in one turn of the loop go in one message.

Threads: the loop's.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Callable, Dict, Iterable, List, Optional, Set, Tuple

from . import frames
from .error import GarError
from .owner_wait import OwnerWait
from .source import Source

# How often it is looked whether gard is silent about a wait: one timer for all, where one for each
# would cost more than all else of a wait that lasts.
_SWEEP_S = 0.05


class PendingWait:
    """One wait that gard runs, and the future that whoever waits for news of it sleeps on."""

    __slots__ = ("machine", "source", "stream", "target", "news", "cookie")

    def __init__(self, machine: OwnerWait, source: Source, stream: int, target: int) -> None:
        self.machine = machine
        self.source = source
        self.stream = stream
        self.target = target
        self.cookie = 0
        self.news: Optional[asyncio.Future[bool]] = None

    def ask(self) -> None:
        """The authority, as the machine wants it."""
        try:
            done = self.source.query(self.target)
        except GarError as error:
            self.machine.failed(error)
        else:
            self.machine.answered(done, time.monotonic_ns())

    def give_news(self) -> None:
        if self.news is not None and not self.news.done():
            self.news.set_result(True)


class PendingWaits:
    def __init__(self, loop: asyncio.AbstractEventLoop, send: Callable[[Any], None]) -> None:
        self._loop = loop
        self._send = send
        self._unsent: List[frames.Wait] = []
        self._pending: Dict[int, PendingWait] = {}
        self._orphans: Dict[int, int] = {}  # by cookie: the stream
        self._orphans_of: Dict[int, int] = {}  # how many, by stream
        self._closes: List[frames.Close] = []
        self._sweeping: Optional[asyncio.TimerHandle] = None

    # ---- Out.

    def register(self, wait: PendingWait, asked: frames.Wait) -> None:
        wait.cookie = asked.cookie
        self._pending[wait.cookie] = wait
        if self._sweeping is None:
            self._sweeping = self._loop.call_later(_SWEEP_S, self._sweep)
        if not self._unsent:
            self._loop.call_soon(self.flush)
        self._unsent.append(asked)
        if len(self._unsent) == frames.WAITS_MAX:
            self.flush()

    def flush(self) -> None:
        if self._unsent:
            waits, self._unsent = self._unsent, []
            self._send(frames.Waits(waits))

    def cancel(self, wait: PendingWait) -> None:
        """gard still has it, and nobody waits for its end."""
        if self._pending.pop(wait.cookie, None) is None:
            return
        self._orphans[wait.cookie] = wait.stream
        self._orphans_of[wait.stream] = self._orphans_of.get(wait.stream, 0) + 1
        self.flush()
        self._send(frames.Cancel(wait.cookie))

    def close_stream(self, close: frames.Close) -> None:
        """Once gard has ended the stream's waits. Those that are pending are given up here: whoever
        waits for them wakes with Closed, but after this, and gard closes no stream with waits."""
        for wait in [wait for wait in self._pending.values() if wait.stream == close.stream]:
            self.cancel(wait)
        if close.stream in self._orphans_of:
            self._closes.append(close)
        else:
            self._send(close)

    # ---- In.

    def completed(self, entries: Iterable[frames.Completion]) -> None:
        for entry in entries:
            wait = self._pending.pop(entry.cookie, None)
            if wait is None:
                self._adopt(entry.cookie)
                continue
            wait.machine.completed(entry, wait.source.is_confirmed(wait.target))
            wait.give_news()

    def refused(self, cookie: int, code: int) -> None:
        wait = self._pending.pop(cookie, None)
        if wait is None:
            self._adopt(cookie)
            return
        wait.machine.refused(code)
        wait.give_news()

    def _adopt(self, cookie: int) -> None:
        """gard has ended this wait too: closes that waited for it can go."""
        stream = self._orphans.pop(cookie, None)
        if stream is None:
            return
        self._orphans_of[stream] -= 1
        if self._orphans_of[stream] > 0:
            return
        del self._orphans_of[stream]
        due = [close for close in self._closes if close.stream == stream]
        self._closes = [close for close in self._closes if close.stream != stream]
        for close in due:
            self._send(close)

    def probed(self, asked: Set[Tuple[int, int]], now_ns: int) -> None:
        """gard asks for these numbers of these streams, and they are pending: so it lives. What it
        was told is done it must end itself, or the owner will."""
        if asked:
            for wait in self._pending.values():
                if (wait.stream, wait.target) in asked:
                    wait.machine.heard(now_ns)

    def _sweep(self) -> None:
        """Asks the devices of waits that gard was silent about for too long."""
        self._sweeping = None
        now_ns = time.monotonic_ns()
        for wait in list(self._pending.values()):
            if wait.machine.next(now_ns).what == "ask":
                wait.ask()
                if not wait.machine.at_gard:
                    wait.give_news()
        if self._pending:
            self._sweeping = self._loop.call_later(_SWEEP_S, self._sweep)

    # ---- The end.

    def lose(self) -> None:
        """They go on without gard."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        pending, self._pending = self._pending, {}
        for wait in pending.values():
            wait.machine.lost()
            wait.give_news()
