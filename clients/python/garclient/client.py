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

import asyncio
import os
import sys
import threading
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Coroutine, Dict, List, Optional, Set, Type

from . import ask, frames, sockets
from .argument import checked_rows
from .closing import ended
from .device import Device
from .driver import drivers_here
from .error import GarError
from .error_numbers import (ForkedChild, InvalidArgument, LimitStreams, MalformedMessage,
                            NotReachable, SystemCall)
from .estimate import Estimates
from .handle import device_of
from .link import Link, VERSION
from .loop_host import LoopHost
from .mapping import Mappings
from .memory import OwnWords
from .plans import AS_SHIPPED, PlanTable, parse
from .sequence import reached
from .source import Binding, Source
from .stream import Stream
from .text import NAME_BYTES_MAX, checked_name, fitted

_RETRY_FIRST_NS = 20_000_000
_RETRY_MOST_NS = 1_000_000_000
_OPEN_PATIENCE_NS = 1_000_000_000
# How far a slot may be ahead of a stream that comes to it: behind a longer jump, in wrapping order,
# what is pending would look done.
_BASE_AHEAD_MAX = 1 << 60


@dataclass
class Counters:
    waits: int = 0  # ended, of any kind
    delegated: int = 0  # of them, ended by gard's word
    in_process: int = 0  # of them, ended without a gard (not block, poll or wait_sync)
    limit_refused: int = 0  # refused by gard for a limit and run here instead
    early_words: int = 0  # the word came before the authority said done
    owner_backstops: int = 0  # gard was silent about them and this side ended them
    reconnects: int = 0


def connect(socket_path: Optional[str] = None, *, name: Optional[str] = None,
            in_process: bool = False, need_daemon: bool = False) -> Client:
    """A client, to be entered with `async with`.

    `socket_path`: this socket alone; else $GARD_SOCKET, else the system's gard, else the user's.
    `name`: for plans and status; else the program's. `in_process`: never connect. `need_daemon`:
    entering raises NotReachable where it would settle for in-process.
    """
    return Client(socket_path, name=name, in_process=in_process, need_daemon=need_daemon)


class Client:
    def __init__(self, socket_path: Optional[str] = None, *, name: Optional[str] = None,
                 in_process: bool = False, need_daemon: bool = False) -> None:
        if in_process and need_daemon:
            raise InvalidArgument("need_daemon", "asks for in-process and for a daemon at once")
        self._name = checked_name("name", name or "") or _own_name()
        self._paths = [] if in_process else sockets.clients_paths(socket_path)
        self._need_daemon = need_daemon
        fallback = parse(sockets.environment("GAR_PLAN") or AS_SHIPPED)
        self.counters = Counters()
        self.plans = PlanTable(fallback)
        self.estimates = Estimates()
        self.published_rows = 0
        self.lock = threading.Lock()  # counters and estimates; never held around a driver's call
        self.host: LoopHost
        self.loop: asyncio.AbstractEventLoop
        self._pid = os.getpid()
        self._thread = 0
        self._open = False
        self._link: Optional[Link] = None
        self._ever_joined = False
        self._joining: Optional[asyncio.Task[None]] = None
        self._closing: Optional[asyncio.Task[None]] = None
        self._retry_ns = 0
        self._pause_ns = _RETRY_FIRST_NS
        self._own_words = OwnWords()
        self._mappings = Mappings()
        self._streams: Dict[Stream, None] = {}
        self._ends: Set[asyncio.Task[None]] = set()  # of streams that are being closed
        self._asked: Dict[Source, Link] = {}

    # ---- Beginning and end.

    async def __aenter__(self) -> Client:
        if self._open or self._closing is not None:
            raise InvalidArgument("client", "is open already")
        self.loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self.host = LoopHost(self.loop)
        self._open = True
        try:
            fault = await self._join() if self._paths else None
        except BaseException:
            # It was given up: nobody will close what was never entered.
            self._open = False
            if self._link is not None:
                self._link.lose(None)
            self.host.close()
            raise
        if self._need_daemon and self._link is None:
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
        raises, the first SettleFailed of a stream or that its task was cancelled, it raises after
        all of them are closed."""
        if os.getpid() != self._pid or not (self._open or self._closing):
            return
        self.check_loop()
        if self._closing is None:
            self._open = False
            self._closing = self.loop.create_task(self._close())
        closing = self._closing
        cancelled = await ended([closing])
        failure = closing.exception()
        if cancelled is not None:
            raise cancelled
        if failure is not None:
            raise failure

    async def _close(self) -> None:
        # Only a loop that ends cancels this task, with all others; what was begun goes on.
        ends = [*self._ends, *(stream.begin_to_close() for stream in list(self._streams))]
        try:
            await ended(ends)
            if self._joining is not None:
                self._joining.cancel()
                await ended([self._joining])
            if self._link is not None:
                await self._link.leave()
        except asyncio.CancelledError:
            pass
        finally:
            self.host.close()
            self._closing = None
        for failure in [end.exception() for end in ends if not end.cancelled()]:
            if failure is not None:
                raise failure

    # ---- What programs call.

    def stream(self, handle: Any, *, vendor: Optional[str] = None, name: str = "") -> Stream:
        """Opens a stream: a CUDA or HIP handle (an integer, or anything with `__cuda_stream__`,
        `cuda_stream`, `ptr` or `handle`), or a `Device` of the program's own. `vendor` is "cuda" or
        "hip"; None: that of the object, or of the driver that this process has loaded.

        The handle must be a live stream until it is closed, and its context current now. Blocks for
        a request to gard, and while a driver starts. Errors: Unavailable (what is missing),
        NoDomain, ForeignStream, Backend, LimitStreams, InvalidArgument.
        """
        self.check(on_loop=True)
        checked_name("name", name)
        device = device_of(handle, vendor)
        try:
            return self._open_stream(Source(device, name), handle)
        except GarError:
            device.close()
            raise

    def word_stream(self, *, name: str = "") -> Stream:
        """Opens a stream whose word is its own authority: the producer is not a GPU. `record` hands
        out the next number, `signal` stores it; or another process does, into `stream.word`."""
        self.check(on_loop=True)
        return self._open_stream(Source(None, checked_name("name", name)), None)

    @property
    def mode(self) -> str:
        """How new waits are served just now: "daemon" or "in-process". Any thread."""
        link = self._link
        return "daemon" if link is not None and link.alive and not link.silent else "in-process"

    def rows(self, rows: int) -> None:
        """Publishes the row count of the current batch: it picks the band of every wait that names
        no rows of its own. Any thread."""
        self.published_rows = checked_rows(rows)

    def status(self) -> Dict[str, Any]:
        """gard's status, as proto/schemas/status.schema.json. Any thread; blocks for a round trip,
        at most a second: from a loop that minds, `await asyncio.to_thread(gar.status)`. Errors:
        NotReachable, also in-process."""
        self.check()
        if not self._paths:
            raise NotReachable("this client is in-process")
        result: Dict[str, Any] = ask.ask(self._paths, {"op": "status"})
        return result

    # ---- The link.

    @property
    def link(self) -> Optional[Link]:
        """That new waits may go to."""
        link = self._link
        return link if link is not None and link.alive and not link.silent else None

    def want_link(self) -> None:
        """Looks for a gard, if there is none and it was not tried just now. Any thread."""
        if self._link is not None or not self._paths or not self._open or self.loop.is_closed():
            return
        if threading.get_ident() != self._thread:
            if time.monotonic_ns() >= self._retry_ns:
                self.post(self.want_link)
            return
        if self._joining is None and time.monotonic_ns() >= self._retry_ns:
            self._joining = self.loop.create_task(self._rejoin())

    async def _rejoin(self) -> None:
        try:
            await self._join()
        finally:
            self._joining = None

    async def _join(self) -> Optional[GarError]:
        """Why there is no link, where there is none."""
        hello = frames.Hello(VERSION, VERSION, 0, self._name, drivers_here())
        tried: List[str] = []
        for path in self._paths:
            try:
                link = Link(self.loop, sockets.connect_at(path), hello, self)
                try:
                    await link.ready
                finally:
                    if not link.ready.done() or link.ready.cancelled():
                        link.lose(None)  # nobody awaits it any more
                return None
            except (OSError, GarError) as error:
                tried.append(f"{path}: {error}")
        self._retry_ns = time.monotonic_ns() + self._pause_ns
        self._pause_ns = min(2 * self._pause_ns, _RETRY_MOST_NS)
        return NotReachable("; ".join(tried))

    def joined(self, link: Link) -> None:
        """A link has its plans."""
        self.plans.start_over()
        for scope in link.plans:
            self.plans.publish(scope)
        self._link = link
        self._pause_ns = _RETRY_FIRST_NS
        self.counters.reconnects += self._ever_joined
        self._ever_joined = True
        for stream in self._streams:
            self._reopen(stream.source, link)

    def published(self, scope: frames.PlanScope) -> None:
        self.plans.publish(scope)

    def lost(self, link: Link) -> None:
        if self._link is link:
            self._link = None

    # ---- Streams and their words.

    def _open_stream(self, source: Source, handle: object) -> Stream:
        self.want_link()
        binding = self._bind_at_gard(source) or self._bind_own(source)
        source.attach(binding)
        if binding.link is not None:
            binding.link.know(binding.stream, binding.stream_generation, source)
        stream = Stream(self, source, handle)
        self._streams[stream] = None
        return stream

    def _bind_at_gard(self, source: Source) -> Optional[Binding]:
        link = self.link
        if link is None or source.stores_nothing:
            return None  # gard could only look at a word that nobody stores into
        self._asked[source] = link
        try:
            return self._bound(link, source, link.open_now(source, _OPEN_PATIENCE_NS))
        except MalformedMessage:
            return None
        except GarError as error:
            if error.category in ("limit", "transient") or isinstance(error, SystemCall):
                return None  # no room, or lost: it works in-process
            raise

    def _bound(self, link: Link, source: Source, opened: frames.Opened) -> Binding:
        try:
            word = link.place_of(opened)
            # A stream that recorded on since it asked is ahead of the answer.
            ahead = (opened.base - source.last) % (1 << 64)
            if ahead > _BASE_AHEAD_MAX and not reached(source.last, opened.base):
                raise MalformedMessage("opened: its base is too far from the one asked for")
            binding = Binding(word, opened.base, link, opened.stream, opened.stream_generation)
            self._map(source, binding)
            return binding
        except GarError:
            link.close_stream(opened.stream, opened.stream_generation, opened.base)
            raise

    def _bind_own(self, source: Source) -> Binding:
        word = self._own_words.take()
        if word is None:
            raise LimitStreams(self._own_words.words_max)
        binding = Binding(word, max(word.load(), source.last))
        try:
            self._map(source, binding)
        except GarError:
            self._own_words.give_back(word, binding.base)
            raise
        return binding

    def _map(self, source: Source, binding: Binding) -> None:
        if source.device is not None:
            for page in binding.pages():
                self._mappings.get(source.device, page)

    def _reopen(self, source: Source, link: Link) -> None:
        if source.stores_nothing or self._asked.get(source) is link:
            return
        self._asked[source] = link

        def then(answer: Any) -> None:
            if isinstance(answer, GarError):
                return  # it stays where it is, and works in-process
            if source not in self._asked:
                link.close_stream(answer.stream, answer.stream_generation, answer.base)
                return
            try:
                source.attach(self._bound(link, source, answer))
            except GarError:
                return
            link.know(answer.stream, answer.stream_generation, source)

        link.open(source, then)

    def let_go(self, source: Source, bindings: List[Binding]) -> None:
        """Their last store has landed."""
        for binding in bindings:
            if source.device is not None:
                for page in binding.pages():
                    self._mappings.give_back(source.device, page)
            if binding.link is None:
                self._own_words.give_back(binding.word, source.last)
            else:
                binding.link.close_stream(binding.stream, binding.stream_generation, source.last)

    def leak(self, source: Source) -> None:
        """Its device may still store."""
        for binding in source.let_go():
            if binding.link is not None:
                binding.link.unknow(binding.stream, binding.stream_generation)

    def end_of(self, stream: Stream, end: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Runs a stream's end, which `close` awaits too."""
        self._streams.pop(stream, None)
        self._asked.pop(stream.source, None)
        task = self.loop.create_task(end)
        self._ends.add(task)
        task.add_done_callback(self._ends.discard)
        return task

    # ---- What streams ask for.

    def check(self, *, on_loop: bool = False) -> None:
        if os.getpid() != self._pid:
            raise ForkedChild(self._pid)
        if not self._open:
            raise InvalidArgument("client", "is not open: use it within `async with`")
        if on_loop and threading.get_ident() != self._thread:
            raise InvalidArgument("thread", "expected the one of the client's event loop")

    def check_loop(self) -> None:
        """For what ends, also while the client is being closed."""
        if os.getpid() != self._pid:
            raise ForkedChild(self._pid)
        if asyncio.get_running_loop() is not self.loop:
            raise InvalidArgument("loop", "expected the one that the client was entered in")

    def post(self, call: Any, *arguments: Any) -> None:
        """Runs it on the loop, from any thread; not where the loop is closed."""
        if self.loop.is_closed():
            return
        if threading.get_ident() == self._thread:
            call(*arguments)
            return
        try:
            self.loop.call_soon_threadsafe(call, *arguments)
        except RuntimeError:
            pass


def _own_name() -> str:
    base = os.path.basename(sys.argv[0] if sys.argv else "")
    return fitted(base, NAME_BYTES_MAX) or "python"
