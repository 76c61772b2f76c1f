"""One stream: recording behind its work, and awaiting what was recorded.

A record enqueues, behind the stream's work so far, the store of the next sequence number into a
word of shared memory. A wait sleeps until that work is nearly done, and returns only after the
device itself said that it is done.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING, Optional, Type

from .argument import checked_sequence
from .closing import StreamEnd
from .error import GarError
from .error_numbers import Closed
from .memory import Word
from .source import Source
from .stream_wait import StreamWaits
from .wait_driver import Report

if TYPE_CHECKING:
    from .session import Session


class Stream:
    """Opened by `Client.stream` and `Client.word_stream`. `async with` closes it."""

    def __init__(self, session: Session, source: Source, end: StreamEnd) -> None:
        self.name = source.name
        self._session = session
        self._source = source
        self._end = end
        self._waits = StreamWaits(session, source, end, self.record)

    # ---- Recording. Any thread.

    def record(self) -> int:
        """Records the stream's work so far and gives its number. At most 256 that are not known to
        be done. Never waits for the device. Errors: LimitRecords, StreamFailed, Backend; of CUDA
        and HIP also Capturing, NoDomain and ForeignStream, which leave the stream as it is."""
        self._check()
        self._want_link()
        sequence = self._source.record()
        if self._source.bindings > 1:
            self._session.post(self._let_go_settled)
        return sequence

    def signal(self, sequence: int) -> None:
        """Stores a word stream's number, which completes every number up to it."""
        self._check()
        self._source.signal(checked_sequence(sequence))

    def query(self, sequence: int) -> bool:
        """Is the work recorded under this number done? Asks the device; never blocks."""
        self._check()
        sequence = checked_sequence(sequence)
        self._source.check_recorded(sequence)
        return self._source.query(sequence)

    @property
    def word(self) -> Word:
        """Where the next number is stored, for a producer that is not this process: `page.fd` and
        `offset_bytes`. It is another one once a gard was lost or found."""
        return self._source.current.word

    @property
    def warning(self) -> str:
        """Why the stream is not served as the plan asks (its device stores no words, so waits
        ask); else empty."""
        device = self._source.device
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
        wait = self._waits.begin(sequence, timeout, point, rows)
        self._want_link()
        return await self._waits.run(wait)

    def wait_sync(self, sequence: Optional[int] = None, *, timeout: Optional[float] = None,
                  point: str = "", rows: Optional[int] = None) -> Report:
        """The same, blocking the calling thread, which runs the plan by itself; any thread. On the
        loop's it holds up the loop."""
        self._check()
        wait = self._waits.begin(sequence, timeout, point, rows)
        self._want_link()
        return self._waits.run_sync(wait)

    # ---- The end.

    async def close(self) -> None:
        """Waits until what was recorded is done, then gives the place back. Waits still pending end
        with Closed. It is closed once, and that goes on where whoever awaits it is cancelled: every
        call awaits the same end. SettleFailed: the device could not say that its stores have
        landed, so its pages stay until the process ends; the stream is closed all the same."""
        if not self._end.is_reached:
            self._session.check_loop()
        end = self._end.begin()
        try:
            await asyncio.shield(end)
        except Exception:
            self._session.told(end)
            raise

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
        if self._end.is_begun:
            raise Closed("the stream")
        self._session.check(on_loop=on_loop)

    def _want_link(self) -> None:
        link = self._source.current.link
        if link is None or not link.alive:
            self._session.want_link()

    def _let_go_settled(self) -> None:
        self._session.let_go(self._source, self._source.take_settled())
