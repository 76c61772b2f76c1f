"""What the streams of one client share: the loop, the link to gard, plans, estimates and counters.

    new --enter--> open --close--> closing --every stream has ended, bye--> new

A gard that is lost ends no wait: new streams, records and waits look for the next one, which gets
the streams that there are. A stream that no gard has a place for stores into words of the client's
own.

Threads: the loop's, but for what says otherwise.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from dataclasses import dataclass
from typing import Any, Dict, List, Optional

from . import frames, sockets
from .closing import StreamEnd, ended
from .driver import drivers_here
from .error import GarError
from .error_numbers import (ForkedChild, HandshakeTimeout, InvalidArgument, LimitStreams,
                            MalformedMessage, NotReachable, SystemCall)
from .estimate import Estimates
from .link import Link, VERSION
from .loop_host import LoopHost
from .mapping import Mappings
from .memory import OwnWords
from .plans import AS_SHIPPED, PlanTable, parse
from .sequence import reached
from .source import Binding, Source

_RETRY_FIRST_NS = 20_000_000
_RETRY_MOST_NS = 1_000_000_000
_OPEN_PATIENCE_NS = 1_000_000_000
# How far a slot may be ahead of a stream that comes to it: behind a longer jump, in wrapping order,
# what is pending would look done.
_BASE_AHEAD_MAX = 1 << 60


@dataclass
class Counters:
    """What became of a client's waits; of `waits`, one may count in several of the others."""
    waits: int = 0  # ended, of any kind
    delegated: int = 0  # of them, ended by gard's word
    in_process: int = 0  # of them, ended without a gard (not block, poll or wait_sync)
    limit_refused: int = 0  # refused by gard for a limit and run here instead
    early_words: int = 0  # the word came before the authority said done
    owner_backstops: int = 0  # gard was silent about them and this side ended them
    reconnects: int = 0


class Session:
    def __init__(self, name: str, paths: List[str]) -> None:
        """`paths`: where a gard is looked for; none: nowhere."""
        self.paths = paths
        self.counters = Counters()
        self.plans = PlanTable(parse(sockets.environment("GAR_PLAN") or AS_SHIPPED))
        self.estimates = Estimates()
        self.published_rows = 0
        self.lock = threading.Lock()  # counters and estimates; never held around a driver's call
        self.host: LoopHost
        self.loop: asyncio.AbstractEventLoop
        self._name = name
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
        self._streams: Dict[Source, StreamEnd] = {}
        # Of streams: those in the making, and those whose failure nobody was told.
        self._ends: Dict[asyncio.Future[None], None] = {}
        self._asked: Dict[Source, Link] = {}

    # ---- Beginning and end.

    async def enter(self) -> Optional[GarError]:
        """Why there is no link, where there is none."""
        if self._open or self._closing is not None:
            raise InvalidArgument("client", "is open already")
        self.loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self.host = LoopHost(self.loop)
        self._open = True
        try:
            return await self._join() if self.paths else None
        except BaseException:
            # It was given up: nobody will close what was never entered.
            self._open = False
            if self._link is not None:
                self._link.lose(None)
            self.host.close()
            raise

    async def close(self) -> None:
        if os.getpid() != self._pid or not (self._open or self._closing):
            return
        self.check_loop()
        if self._closing is None:
            self._open = False
            self._closing = self.loop.create_task(self._close())
            self._closing.add_done_callback(self._closed)
        closing = self._closing
        cancelled = await ended([closing])
        failure = closing.exception()
        if cancelled is not None:
            raise cancelled
        if failure is not None:
            raise failure

    async def _close(self) -> None:
        # Only a loop that ends cancels this task, with all others; what was begun goes on.
        for end in list(self._streams.values()):
            end.begin()
        try:
            await ended(self._ends)
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
        untold, self._ends = self._ends, {}
        for failure in [end.exception() for end in untold]:
            if failure is not None:
                raise failure

    def _closed(self, closing: asyncio.Task[None]) -> None:
        if self._closing is closing:
            self._close_now()  # it was cancelled before its first step

    def _close_now(self, _: Optional[asyncio.Future[None]] = None) -> None:
        for end in list(self._streams.values()):
            end.reach_now()
        for begun in self._ends:
            if not begun.done():
                begun.add_done_callback(self._close_now)
                return
        if self._joining is not None:
            self._joining.cancel()
        if self._link is not None:
            self._link.lose(None)
        self.host.close()
        self._closing = None
        self._ends = {}

    def end_of(self, source: Source) -> asyncio.Future[None]:
        """What is done when the stream's end is reached; `close` awaits it too."""
        self._streams.pop(source, None)
        self._asked.pop(source, None)
        end: asyncio.Future[None] = self.loop.create_future()
        self._ends[end] = None
        end.add_done_callback(self._reached)
        return end

    def _reached(self, end: asyncio.Future[None]) -> None:
        if end.cancelled() or end.exception() is None:
            self._ends.pop(end, None)

    def told(self, end: asyncio.Future[None]) -> None:
        """Somebody knows how it failed."""
        self._ends.pop(end, None)

    # ---- The link.

    @property
    def link(self) -> Optional[Link]:
        """That new waits may go to."""
        link = self._link
        return link if link is not None and link.alive and not link.silent else None

    def want_link(self) -> None:
        """Looks for a gard, if there is none and it was not tried just now. Any thread."""
        if self._link is not None or not self.paths or not self._open or self.loop.is_closed():
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
        for path in self.paths:
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
        # From now, since it may be lost at once: else each call would begin another.
        self._pause_ns = _RETRY_FIRST_NS
        self._retry_ns = time.monotonic_ns() + self._pause_ns
        self.counters.reconnects += self._ever_joined
        self._ever_joined = True
        for source in self._streams:
            self._reopen(source, link)

    def spoke(self, link: Link) -> None:
        """A link that was silent: streams that were opened meanwhile go there."""
        for source in self._streams:
            at = source.current.link
            if at is None or not at.alive:
                self._reopen(source, link)

    def published(self, scope: frames.PlanScope) -> None:
        self.plans.publish(scope)

    def lost(self, link: Link) -> None:
        if self._link is link:
            self._link = None

    # ---- Streams and their words.

    def open(self, source: Source, handle: object) -> StreamEnd:
        """Gives a stream its words. Blocks for a request to gard."""
        self.want_link()
        try:
            binding = self._bind_at_gard(source) or self._bind_own(source)
        except GarError:
            self._asked.pop(source, None)
            raise
        source.attach(binding)
        if binding.link is not None:
            binding.link.know(binding.stream, binding.stream_generation, source)
        end = self._streams[source] = StreamEnd(self, source, handle)
        return end

    def _bind_at_gard(self, source: Source) -> Optional[Binding]:
        link = self.link
        if link is None or source.stores_nothing:
            return None  # gard could only look at a word that nobody stores into
        self._asked[source] = link
        try:
            return self._bound(link, source, link.open_now(source, _OPEN_PATIENCE_NS))
        except MalformedMessage:
            return None
        except HandshakeTimeout:
            del self._asked[source]  # what comes late is given back, and it is asked again
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
            self._mappings.get_all(source.device, binding.pages())

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
