"""One connection to a gard: its handshake, what goes out, what comes in.

PROTOCOL.md, "States of a connection", "Connecting" and what follows. Nothing sent blocks. What
comes is decoded and checked before anything believes it; what may not come ends the connection.

    new --hello--> (welcome, plans) --> ready --bye, end of file, a fault--> lost

Threads: the loop's, but for `bell`, which any thread may ring.
Errors: of `open` and `open_now` those that gard answers, and NotReachable for a link that is lost.
"""

from __future__ import annotations

import asyncio
import socket
import time
from typing import Any, Callable, Dict, List, Optional, Protocol, Tuple, Type, Union

from . import frames
from .error import GarError, error_of, error_said
from .error_numbers import (HandshakeTimeout, MalformedMessage, NotReachable, OutOfState, SystemCall,
                            UnexpectedDescriptors, VersionMismatch)
from .mailbox import Mailbox, Received, close_all
from .memory import WORDS_PER_LINE, Bell, Page, Word
from .pending_waits import PendingWait, PendingWaits
from .point_numbers import PointNumbers
from .source import Source
from .text import fitted

VERSION = 1
HANDSHAKE_NS_MAX = 1_000_000_000
OUTCOME_DELAY_S = 0.05
_LEAVE_S = 0.25
_FRAMES_PER_TURN = 64

OnOpened = Callable[[Union[frames.Opened, GarError]], None]


class LinkOwner(Protocol):
    """Whom a link tells what came."""

    def joined(self, link: Link) -> None: ...
    def published(self, scope: frames.PlanScope) -> None: ...
    def spoke(self, link: Link) -> None: ...  # after it was silent
    def lost(self, link: Link) -> None: ...


class Link:
    def __init__(self, loop: asyncio.AbstractEventLoop, peer: socket.socket, hello: frames.Hello,
                 owner: LinkOwner) -> None:
        """Takes the socket. `ready` is done when the handshake is, or has its error."""
        self._loop = loop
        self._owner = owner
        self._welcome: Optional[frames.Welcome] = None
        self._plans: List[frames.PlanScope] = []
        self._pages: List[Page] = []
        self._state: Optional[Page] = None
        self._statuses: List[frames.Status] = []
        self._outcomes: List[frames.Outcome] = []
        self._outcomes_due: Optional[asyncio.TimerHandle] = None
        self._requests: Dict[int, OnOpened] = {}
        self._sources: Dict[Tuple[int, int], Source] = {}
        self._points = PointNumbers()
        self._cookie = 0
        self.alive = True
        self.silent = False  # it was, past a wait's backstop or an open's patience
        self._left: Optional[asyncio.Future[None]] = None
        self.bell: Bell
        self.fault: Optional[GarError] = None
        self.ready: asyncio.Future[None] = loop.create_future()
        self._late = loop.call_later(HANDSHAKE_NS_MAX / 1e9, self._handshake_is_late)
        self._mailbox = Mailbox(loop, peer, self._readable, self._does_not_read)
        self._waits = PendingWaits(loop, self._send)
        self._send(hello)

    # ---- Streams.

    def open(self, source: Source, then: OnOpened) -> int:
        """Asks for a place; the cookie of the request."""
        self._cookie += 1
        if not self.alive:
            then(_lost())
            return self._cookie
        self._requests[self._cookie] = then
        self._send(frames.Open(self._cookie, source.last, int(source.word_is_authority),
                               source.name))
        return self._cookie

    def open_now(self, source: Source, patience_ns: int) -> frames.Opened:
        """The same, blocking; HandshakeTimeout where gard does not answer in time."""
        answers: List[Union[frames.Opened, GarError]] = []
        cookie = self.open(source, answers.append)
        until_ns = time.monotonic_ns() + patience_ns
        while not answers:
            left_ns = until_ns - time.monotonic_ns()
            if left_ns <= 0:
                self._requests[cookie] = self._give_back
                self.silent = True
                raise HandshakeTimeout("opened", patience_ns // 1_000_000)
            self._mailbox.serve_for(left_ns)
        answer = answers[0]
        if isinstance(answer, GarError):
            raise answer
        return answer

    def _give_back(self, answer: Union[frames.Opened, GarError]) -> None:
        if isinstance(answer, frames.Opened):
            self.close_stream(answer.stream, answer.stream_generation, answer.base)

    def place_of(self, opened: frames.Opened) -> Word:
        index = opened.line_index * WORDS_PER_LINE + opened.slot
        if opened.page_index >= len(self._pages) or index >= len(
                self._pages[opened.page_index].words):
            raise MalformedMessage("opened: no such word")
        return Word(self._pages[opened.page_index], index)

    def know(self, stream: int, generation: int, source: Source) -> None:
        """Probes of this stream are answered from now on."""
        self._sources[(stream, generation)] = source

    def unknow(self, stream: int, generation: int) -> None:
        self._sources.pop((stream, generation), None)

    def close_stream(self, stream: int, generation: int, last: int) -> None:
        """Once gard has ended its waits; no more are registered."""
        self._sources.pop((stream, generation), None)
        self._cookie += 1
        self._waits.close_stream(frames.Close(self._cookie, stream, generation, last))

    # ---- Waits.

    def register(self, wait: PendingWait, asked: frames.Wait, point: str) -> None:
        """Those of one turn of the loop go in one message."""
        self._cookie += 1
        number = self.number_of(point)
        self._waits.register(wait, asked._replace(cookie=self._cookie, point=number))

    def cancel(self, wait: PendingWait) -> None:
        """gard still has it, and nobody waits for its end."""
        self._waits.cancel(wait)

    def number_of(self, point: str) -> int:
        """The point's number, named where gard does not know it yet; what was meant before goes
        first."""
        if not point:
            return 0
        number, fresh = self._points.number_of(point)
        if fresh:
            self._waits.flush()
            self._flush_outcomes()
            self._send(frames.Point(number, point))
        return number

    def report(self, outcome: frames.Outcome) -> None:
        if not self.alive:
            return
        self._outcomes.append(outcome)
        if len(self._outcomes) == frames.OUTCOMES_MAX:
            self._flush_outcomes()
        elif self._outcomes_due is None:
            self._outcomes_due = self._loop.call_later(OUTCOME_DELAY_S, self._flush_outcomes)

    # ---- The end.

    async def leave(self) -> None:
        """Says bye, and closes when gard has: a socket that is closed with messages unread resets
        the connection, and what was sent last is lost."""
        if not self.alive:
            return
        self._waits.flush()
        self._flush_outcomes()
        self._send(frames.Bye(0))
        self._left = self._loop.create_future()
        try:
            await asyncio.wait([self._left], timeout=_LEAVE_S)
        finally:
            self.lose(None)

    def lose(self, fault: Optional[GarError]) -> None:
        """The connection is forgotten whole; its waits go on without it."""
        if not self.alive:
            return
        self.alive = False
        self.fault = fault
        if self._left is not None and not self._left.done():
            self._left.set_result(None)
        self._late.cancel()
        self._mailbox.close()
        if self._outcomes_due is not None:
            self._outcomes_due.cancel()
        self._waits.lose()
        requests, self._requests = self._requests, {}
        for then in requests.values():
            then(_lost())
        self._sources.clear()
        if self.ready.done():
            self._owner.lost(self)
        else:
            self.ready.set_exception(fault or _lost())

    # ---- Out.

    def _send(self, message: Any) -> None:
        if self.alive:
            self._mailbox.send(frames.encode(message))

    def _does_not_read(self) -> None:
        self.lose(NotReachable("it does not read"))

    def _flush_outcomes(self) -> None:
        if self._outcomes_due is not None:
            self._outcomes_due.cancel()
            self._outcomes_due = None
        if self._outcomes:
            outcomes, self._outcomes = self._outcomes, []
            self._send(frames.Outcomes(outcomes))

    # ---- In.

    def _readable(self) -> None:
        try:
            for _ in range(_FRAMES_PER_TURN):
                received = self._mailbox.receive()
                if received is None:
                    break
                self._take(received)
                if not self.alive:
                    return
        except GarError as fault:
            self.lose(fault)
        self._send_statuses()

    def _take(self, received: Received) -> None:
        descriptors = received.descriptors
        try:
            if self._left is not None:
                return
            message = frames.decode(received.frame)
            expected = frames.descriptors_of(message)
            if len(descriptors) != expected:
                raise UnexpectedDescriptors(len(descriptors), type(message).__name__, expected)
            if self.silent:
                self.silent = False
                self._owner.spoke(self)
            taker = self._takers().get(type(message))
            if taker is None:
                raise OutOfState(type(message).__name__, "now")
            taken, descriptors = descriptors, []
            taker(self, message, taken)
        finally:
            close_all(descriptors)

    def _takers(self) -> Dict[Type[Any], Callable[[Link, Any, List[int]], None]]:
        if self._welcome is None:
            return _TAKERS_NEW
        return _TAKERS if self.ready.done() else _TAKERS_JOINING

    def _take_welcome(self, m: frames.Welcome, descriptors: List[int]) -> None:
        if m.version != VERSION:
            close_all(descriptors)
            raise VersionMismatch(m.version, VERSION)
        makers: List[Callable[[int], Page]] = [lambda fd: Page.of_gard(fd, m.page_bytes),
                                               Page.doorbell, Page.state]
        pages = []
        for at, make in enumerate(makers):
            try:
                pages.append(make(descriptors[at]))
            except BaseException:
                close_all(descriptors[at + 1:])
                raise
        close_all(descriptors[3:])
        self._pages = [pages[0]]
        self.bell = Bell(pages[1], m.client_id)
        self._state = pages[2]
        self._welcome = m

    def _take_first_plan(self, m: frames.PlanScope, _: List[int]) -> None:
        assert self._welcome is not None
        self._plans.append(m)
        if len(self._plans) == self._welcome.plan_scopes:
            # Before anything else that comes, and refused before anybody uses it.
            self._owner.joined(self)
            self._late.cancel()
            self.ready.set_result(None)

    @property
    def plans(self) -> List[frames.PlanScope]:
        """Those that came with the welcome."""
        return self._plans

    def _take_page(self, m: frames.Page, descriptors: List[int]) -> None:
        if m.page_index != len(self._pages):
            close_all(descriptors)
            raise MalformedMessage("page: not the next one")
        self._pages.append(Page.of_gard(descriptors[0], m.page_bytes))

    def _take_plan(self, m: frames.PlanScope, _: List[int]) -> None:
        self._owner.published(m)

    def _take_opened(self, m: frames.Opened, _: List[int]) -> None:
        then = self._requests.pop(m.cookie, None)
        if then is not None:
            then(m)

    def _take_closed(self, m: frames.Closed, _: List[int]) -> None:
        pass

    def _take_completions(self, m: frames.Completions, _: List[int]) -> None:
        self._waits.completed(m.entries)

    def _take_refusal(self, m: frames.Refusal, _: List[int]) -> None:
        if m.fatal:
            raise _refusal(m)
        if m.request_type == frames.WAIT_TYPE:
            self._waits.refused(m.cookie, m.code)
            return
        then = self._requests.pop(m.cookie, None)
        if then is not None:
            then(_refusal(m))

    def _take_probes(self, m: frames.Probes, _: List[int]) -> None:
        now_ns = time.monotonic_ns()
        asked = set()
        for probe in m.entries:
            source = self._sources.get((probe.stream, probe.stream_generation))
            if source is None:
                continue  # closed meanwhile
            state, status, call = _state_of(source, probe.sequence)
            if state < 0:
                continue
            if state == 0:
                asked.add((probe.stream, probe.sequence))
            self._statuses.append(frames.Status(probe.probe_id, probe.sequence, probe.stream,
                                                probe.stream_generation, state, status, call))
        self._waits.probed(asked, now_ns)

    def _send_statuses(self) -> None:
        while self._statuses:
            self._send(frames.Statuses(self._statuses[:frames.STATUSES_MAX]))
            del self._statuses[:frames.STATUSES_MAX]

    def _take_bye(self, m: frames.Bye, _: List[int]) -> None:
        raise error_of(m.code) if m.code else NotReachable("it said bye")

    def _handshake_is_late(self) -> None:
        self.lose(HandshakeTimeout("welcome", HANDSHAKE_NS_MAX // 1_000_000))


_Taker = Callable[[Link, Any, List[int]], None]
_TAKERS_NEW: Dict[Type[Any], _Taker] = {
    frames.Welcome: Link._take_welcome, frames.Refusal: Link._take_refusal,
    frames.Bye: Link._take_bye}
_TAKERS_JOINING: Dict[Type[Any], _Taker] = {
    frames.PlanScope: Link._take_first_plan, frames.Refusal: Link._take_refusal,
    frames.Bye: Link._take_bye}
_TAKERS: Dict[Type[Any], _Taker] = {
    frames.Page: Link._take_page, frames.Opened: Link._take_opened,
    frames.Closed: Link._take_closed, frames.PlanScope: Link._take_plan,
    frames.Completions: Link._take_completions, frames.Probes: Link._take_probes,
    frames.Refusal: Link._take_refusal, frames.Bye: Link._take_bye}


def _state_of(source: Source, sequence: int) -> Tuple[int, int, str]:
    """What a probe is answered: 0 pending, 1 done, 2 failed with status and call; -1: nothing."""
    try:
        source.check_recorded(sequence)
    except GarError:
        return -1, 0, ""
    try:
        return int(source.query(sequence)), 0, ""
    except GarError as failure:
        call = failure.arguments[0] if failure.arguments else ""
        return 2, _as_int32(failure.status or 0), fitted(call, 47)


def _as_int32(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def _refusal(m: frames.Refusal) -> GarError:
    return error_said(m.code, m.text)


def _lost() -> GarError:
    return NotReachable("the connection was lost")
