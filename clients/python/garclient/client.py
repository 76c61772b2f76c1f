"""A program's connection to gard, or its stand-in where there is none.

    async with garclient.connect() as gar:
        stream = gar.stream(torch.cuda.current_stream())
        await stream.wait(stream.record())

A client belongs to the event loop that entered it and has no thread of its own: gard's probes are
answered in that loop, so a loop that is blocked delays its own waits and nobody else's.

Without a gard the same calls work in-process, with the plan of $GAR_PLAN or the one as shipped. A
gard that is lost ends no wait; new streams, records and waits look for the next one.

Threads: the loop's, but for what says otherwise. A forked child is refused with ForkedChild.
"""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Any, Dict, Optional, Type

from . import ask, sockets
from .argument import checked_rows
from .error import GarError
from .error_numbers import InvalidArgument, NotReachable
from .handle import device_of
from .session import Counters, Session
from .source import Source
from .stream import Stream
from .text import NAME_BYTES_MAX, checked_name, fitted


def connect(socket_path: Optional[str] = None, *, name: Optional[str] = None,
            in_process: bool = False, need_daemon: bool = False) -> Client:
    """A client, to be entered with `async with`.

    `socket_path`: this socket alone; else $GARD_SOCKET, else the system's gard, else the user's.
    `name`: for plans and status; else the program's. `in_process`: never connect. `need_daemon`:
    entering raises NotReachable where it would settle for in-process.
    """
    return Client(socket_path, name=name, in_process=in_process, need_daemon=need_daemon)


class Client:
    """What `connect` gives: one program's connection to gard, or its stand-in where there is none.

    `async with` enters and closes it; once closed it can be entered again. `counters` tell how its
    waits ended.
    """

    def __init__(self, socket_path: Optional[str] = None, *, name: Optional[str] = None,
                 in_process: bool = False, need_daemon: bool = False) -> None:
        """As `connect`, which says what they mean."""
        if in_process and need_daemon:
            raise InvalidArgument("need_daemon", "asks for in-process and for a daemon at once")
        name = checked_name("name", name or "") or _own_name()
        self._session = Session(name, [] if in_process else sockets.clients_paths(socket_path))
        self._need_daemon = need_daemon

    # ---- Beginning and end.

    async def __aenter__(self) -> Client:
        fault = await self._session.enter()
        if self._need_daemon and self._session.link is None:
            await self.close()
            raise fault or NotReachable("nobody answered")
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        try:
            await self.close()
        except GarError:
            if error is None:
                raise

    async def close(self) -> None:
        """Closes every stream, then the connection. Pending waits end with Closed. Whatever it
        raises, it raises after all of them are closed: that its task was cancelled, or the first
        SettleFailed of a stream that no `Stream.close` has told."""
        await self._session.close()

    # ---- What programs call.

    def stream(self, handle: Any, *, vendor: Optional[str] = None, name: str = "") -> Stream:
        """Opens a stream: a CUDA or HIP handle (an integer, or anything with `__cuda_stream__`,
        `cuda_stream`, `ptr` or `handle`), or a `Device` of the program's own. `vendor` is "cuda" or
        "hip"; None: that of the object, or of the driver that this process has loaded.

        The handle must be a live stream until it is closed, and its context current now. Blocks for
        a request to gard, and while a driver starts. Errors: Unavailable (what is missing),
        NoDomain, ForeignStream, Backend, LimitStreams, InvalidArgument.
        """
        self._session.check(on_loop=True)
        checked_name("name", name)
        device = device_of(handle, vendor)
        try:
            return self._opened(Source(device, name), handle)
        except GarError:
            device.close()
            raise

    def word_stream(self, *, name: str = "") -> Stream:
        """Opens a stream whose word is its own authority: the producer is not a GPU. `record` hands
        out the next number, `signal` stores it; or another process does, into `stream.word`."""
        self._session.check(on_loop=True)
        return self._opened(Source(None, checked_name("name", name)), None)

    @property
    def mode(self) -> str:
        """How new waits are served just now: "daemon" or "in-process". Any thread."""
        return "daemon" if self._session.link is not None else "in-process"

    def rows(self, rows: int) -> None:
        """Publishes the row count of the current batch: it picks the band of every wait that names
        no rows of its own. Any thread."""
        self._session.published_rows = checked_rows(rows)

    def status(self) -> Dict[str, Any]:
        """gard's status, as proto/schemas/status.schema.json. Any thread; blocks for a round trip,
        at most a second: from a loop that minds, `await asyncio.to_thread(gar.status)`. Errors:
        NotReachable, also in-process."""
        self._session.check()
        if not self._session.paths:
            raise NotReachable("this client is in-process")
        result: Dict[str, Any] = ask.ask(self._session.paths, {"op": "status"})
        return result

    @property
    def counters(self) -> Counters:
        """How its waits ended, so far."""
        return self._session.counters

    def _opened(self, source: Source, handle: object) -> Stream:
        return Stream(self._session, source, self._session.open(source, handle))


def _own_name() -> str:
    base = os.path.basename(sys.argv[0] if sys.argv else "")
    return fitted(base, NAME_BYTES_MAX) or "python"
