"""An end that is begun once, and is reached whoever stops waiting for it.

A stream's end waits for its device, and a device that is let go before its last store has landed
stores into memory of somebody else's. So an end is a task of its own: who awaits it can be
cancelled, the end goes on. A loop that ends cancels tasks that have not begun: then the end is
reached in their place, holding the loop up.

    open --begin--> settling: no call, no sleep begins --work and stores have ended--> let go
      --no thread is in the device--> closed

Threads: the loop's.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any, Callable, Iterable, Optional

from .error import GarError
from .loop_host import Sleeping
from .source import Source
from .wait_driver import PACE_MOST_NS

if TYPE_CHECKING:
    from .session import Session


class StreamEnd:
    """Of one stream; `sleeping` is what its waits sleep on until then."""

    def __init__(self, session: Session, source: Source, handle: object) -> None:
        """`handle`: a framework's object, which must live until then."""
        self.sleeping = Sleeping()
        self._session = session
        self._source = source
        self._handle = handle
        self._task: Optional[asyncio.Task[None]] = None
        self._reached: Optional[asyncio.Future[None]] = None

    @property
    def is_begun(self) -> bool:
        return self._reached is not None

    @property
    def is_reached(self) -> bool:
        return self._reached is not None and self._reached.done()

    def begin(self) -> asyncio.Future[None]:
        """The one end, however often it is called."""
        if self._reached is None:
            self._reached = self._begun()
            self._task = self._session.loop.create_task(self._run())
            self._task.add_done_callback(self._has_run)
        return self._reached

    def reach_now(self) -> None:
        """Of one not begun, in a loop that runs no new task. Blocks."""
        self._reached = self._begun()
        self._reach(self._run_now)

    def _begun(self) -> asyncio.Future[None]:
        self.sleeping.end()
        self._source.take_no_records()
        return self._session.end_of(self._source)

    async def _run(self) -> None:
        await self._settled()
        self._let_go()
        while self._source.asking:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(PACE_MOST_NS / 1e9)
        self._source.close_device()

    def _run_now(self) -> None:
        self._let_go()
        while self._source.asking:
            time.sleep(PACE_MOST_NS / 1e9)
        self._source.close_device()

    def _let_go(self) -> None:
        source = self._source
        try:
            source.settle()
        except GarError:
            self._session.leak(source)
            raise
        self._session.let_go(source, source.let_go())

    def _has_run(self, task: asyncio.Task[None]) -> None:
        # Once begun it is never cancelled. A task that is cancelled before its first step runs
        # nothing of its own, and a loop that ends waits for no other.
        self._reach(self._run_now if task.cancelled() else task.result)

    def _reach(self, how: Callable[[], None]) -> None:
        assert self._reached is not None
        try:
            how()
        except Exception as failure:
            self._reached.set_exception(failure)
        else:
            self._reached.set_result(None)

    async def _settled(self) -> None:
        # Without holding the loop up. A loop that ends cancels all of its tasks, but no work.
        source, host = self._source, self._session.host
        while source.device is not None and not source.is_confirmed(source.newest):
            try:
                await host.poll(source, source.newest, None, PACE_MOST_NS, Sleeping())
            except asyncio.CancelledError:
                continue
            except GarError:
                return  # what a device that failed says is for `settle` to say again


async def ended(tasks: Iterable[asyncio.Future[Any]]) -> Optional[asyncio.CancelledError]:
    """Returns when all of them are done, and not before. Whoever was cancelled meanwhile is to
    raise what it answers."""
    cancelled: Optional[asyncio.CancelledError] = None
    pending = set(tasks)
    while pending:
        try:
            _, pending = await asyncio.wait(pending)
        except asyncio.CancelledError as error:
            cancelled = error
            pending = {task for task in pending if not task.done()}
    return cancelled
