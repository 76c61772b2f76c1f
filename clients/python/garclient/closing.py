"""An end that is begun once, and is reached whoever stops waiting for it.

A stream's end waits for its device, and a device that is let go before its last store has landed
stores into memory of somebody else's. So an end is a task of its own: who awaits it can be
cancelled, the end goes on.

Threads: the loop's.
"""

from __future__ import annotations

import asyncio
from typing import Any, Iterable, Optional


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
