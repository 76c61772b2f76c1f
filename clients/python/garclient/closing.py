"""An end that is begun once, and is reached whoever stops waiting for it.

A stream's end waits for its device, and a device that is let go before its last store has landed
stores into memory of somebody else's. So an end is a task of its own: who awaits it can be
cancelled, the end goes on.

    open --begin--> settling: no call, no sleep begins --work and stores have ended--> let go
      --no thread is in the device--> closed

Threads: the loop's.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Iterable, Optional

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

    @property
    def is_begun(self) -> bool:
        return self._task is not None

    @property
    def is_reached(self) -> bool:
        return self._task is not None and self._task.done()

    def begin(self) -> asyncio.Task[None]:
        """The one task, however often it is called."""
        if self._task is None:
            self._task = self._session.end_of(self._source, self._run())
            self.sleeping.end()
        return self._task

    async def _run(self) -> None:
        source = self._source
        await self._settled()
        try:
            source.settle()
        except GarError:
            self._session.leak(source)
            raise
        self._session.let_go(source, source.let_go())
        while source.asking:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(PACE_MOST_NS / 1e9)
        source.close_device()

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


async def ended(tasks: Iterable[asyncio.Task[Any]]) -> Optional[asyncio.CancelledError]:
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
