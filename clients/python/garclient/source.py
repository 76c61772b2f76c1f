"""A stream's own state: its records, whom to ask for them, and the words they are stored in.

PROTOCOL.md, "Streams, slots, recording". One record is atomic: arm, then count the number as issued;
the word never goes backwards. A number at or below `confirmed` is done. Success is only what the
authority said.

    attached (a binding) -> record ... -> attached again (another gard) -> record ...
    failed: a record or the device failed; no more records, earlier numbers can be asked for
    closing: no more records -> settled -> let go: no binding, nothing is asked any more, Closed

Threads: any. The arming lock is the stream's alone and held around the device's `arm`; the state
lock is short and never held around a call of the device.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable, List, Optional, TypeVar

from .device import Device, Store
from .error import GarError
from .error_numbers import (Backend, Capturing, Closed, ForeignStream, InvalidArgument,
                            LimitRecords, NoDomain, SettleFailed, StreamFailed)
from .memory import Bell, Page, Word
from .sequence import UNCONFIRMED_MAX, Records, reached

if TYPE_CHECKING:
    from .link import Link

# A record that ends so has enqueued nothing, and leaves the stream as it was.
_REFUSALS = (Capturing, NoDomain, ForeignStream, LimitRecords)

# Pages that a device may still store into; they stay until the process ends.
_kept: "list[object]" = []

_Answer = TypeVar("_Answer")


@dataclass
class Binding:
    """Where numbers after `base` are stored; `link` and what follows where a gard watches it."""
    word: Word
    base: int
    link: Optional[Link] = None
    stream: int = 0
    stream_generation: int = 0

    @property
    def bell(self) -> Optional[Bell]:
        return self.link.bell if self.link else None

    def pages(self) -> List[Page]:
        bell = self.bell
        return [self.word.page] + ([bell.page] if bell else [])


class Source:
    def __init__(self, device: Optional[Device], name: str) -> None:
        """Without a device the word is its own authority."""
        self.device = device
        self.name = name
        self._records = Records(0)
        self._arming = threading.Lock()
        self._state = threading.Lock()
        self._bindings: List[Binding] = []  # oldest first; the last one is stored into
        self._next: Optional[Binding] = None
        self._signalled = 0
        self._failure: Optional[GarError] = None
        self._authority_failure: Optional[GarError] = None
        self._failed_from = 0
        self._takes_no_records = False
        self.asking = 0  # threads that are in the device just now

    @property
    def word_is_authority(self) -> bool:
        return self.device is None

    @property
    def stores_nothing(self) -> bool:
        return self.device is not None and self.device.no_stores != ""

    @property
    def last(self) -> int:
        return self._records.last

    @property
    def newest(self) -> int:
        with self._state:
            return self._records.newest

    @property
    def current(self) -> Binding:
        bindings = self._bindings
        if not bindings:
            raise Closed("the stream")
        return bindings[-1]

    # ---- Where numbers are stored.

    def attach(self, binding: Binding) -> None:
        """From now on, or from the end of the record that is being made just now. Never waits."""
        with self._state:
            self._next = binding
        self._adopt()

    def _adopt(self) -> None:
        # Whoever holds the lock adopts once more after it let go.
        while self._next is not None and self._arming.acquire(blocking=False):
            try:
                with self._state:
                    if self._next is not None:
                        self._go_on_at(self._next)
                        self._next = None
            finally:
                self._arming.release()

    def _go_on_at(self, binding: Binding) -> None:
        # Numbers recorded since gard was asked are behind its base: the word begins at the later.
        if not reached(binding.base, self._records.last):
            binding.base = self._records.last
        binding.word.store(binding.base)
        if self._bindings:
            self._records.rebase(binding.base)
        else:
            self._records = Records(binding.base)
            self._signalled = binding.base
        self._bindings.append(binding)

    def binding_of(self, sequence: int) -> Binding:
        with self._state:
            for binding in reversed(self._bindings):
                if not reached(binding.base, sequence):
                    return binding
            if not self._bindings:
                raise Closed("the stream")
            return self._bindings[0]

    @property
    def bindings(self) -> int:
        """How many; one, but for what a lost gard left."""
        return len(self._bindings)

    def stored(self, sequence: int) -> bool:
        """Has its word come? A reason to ask, no answer."""
        return reached(self.binding_of(sequence).word.load(), sequence)

    def take_settled(self) -> List[Binding]:
        """Old bindings whose last store has landed."""
        with self._state:
            count = 0
            for i, newer in enumerate(self._bindings[1:], 1):
                stored = newer.word.load() != newer.base
                if stored and self._records.is_confirmed(newer.base):
                    count = i
            taken, self._bindings = self._bindings[:count], self._bindings[count:]
            return taken

    def let_go(self) -> List[Binding]:
        """All of them; the stream is closed."""
        with self._state:
            taken, self._bindings = self._bindings, []
            if self._next is not None:
                taken.append(self._next)
                self._next = None
            return taken

    # ---- Recording.

    def record(self) -> int:
        try:
            with self._arming:
                return self._record()
        finally:
            self._adopt()

    def _record(self) -> int:
        if self._takes_no_records:
            raise Closed("the stream")
        self._refuse_if_failed()
        if self._records.full and not self.query(self._records.oldest):
            raise LimitRecords(UNCONFIRMED_MAX)
        with self._state:
            sequence, at = self._records.next, self.current
        if self.device is not None:
            bell = at.bell
            ring = None if bell is None else Store(Word(bell.page, bell.index),
                                                   bell.value(at.stream, sequence))
            try:
                self.device.arm(sequence, Store(at.word, sequence), ring)
            except _REFUSALS:
                raise
            except Exception as error:
                self._failure = _as_gar_error(error, f"{self.device.name}.arm")
                raise self._failure from error
        with self._state:
            return self._records.issued()

    def signal(self, sequence: int) -> None:
        """Stores a word stream's number, which completes every number up to it."""
        if self.device is not None:
            raise InvalidArgument("stream", "not a word stream")
        with self._state:
            if self._records.is_recorded(sequence) and reached(self._signalled, sequence):
                return
            if not self._records.is_recorded(sequence):
                raise InvalidArgument("sequence", f"{sequence} was never recorded on this stream")
            self._signalled = sequence
            for binding in self._bindings:
                if not reached(binding.base, sequence):
                    _store(binding, sequence)

    # ---- The authority.

    def check_recorded(self, sequence: int) -> None:
        with self._state:
            if self._records.is_recorded(sequence):
                return
        raise InvalidArgument("sequence", f"{sequence} was never recorded on this stream")

    def is_confirmed(self, sequence: int) -> bool:
        with self._state:
            return self._records.is_confirmed(sequence)

    def query(self, sequence: int) -> bool:
        """Is this recorded number done? Never blocks for longer than the device's own query."""
        with self._state:
            if self._records.is_confirmed(sequence):
                return True
            if self._authority_failure and reached(sequence, self._failed_from):
                raise self._authority_failure
        done = self._ask(sequence)
        if done:
            with self._state:
                self._records.confirm(sequence)
        return done

    def block(self, sequence: int, timeout_ns: Optional[int]) -> Optional[bool]:
        """The device's own blocking wait; None: it has none."""
        if self.device is None:
            return None
        try:
            done = self._asked(self.device.block, sequence, timeout_ns)
        except Closed:
            raise
        except Exception as error:
            raise self._failed(sequence, error, "block") from error
        if done:
            with self._state:
                self._records.confirm(sequence)
        return done

    def idle(self) -> bool:
        """Is there nothing on the stream but what was recorded?"""
        if self.device is None:
            return True
        try:
            return self._asked(self.device.idle)
        except Exception as error:
            raise _as_gar_error(error, f"{self.device.name}.idle") from error

    def _ask(self, sequence: int) -> bool:
        if self.device is None:
            return reached(self.binding_of(sequence).word.load(), sequence)
        try:
            return self._asked(self.device.query, sequence)
        except Closed:
            raise
        except Exception as error:
            raise self._failed(sequence, error, "query") from error

    def _asked(self, call: Callable[..., _Answer], *arguments: object) -> _Answer:
        # A device is not closed while a thread is in it, and not entered once it was let go.
        with self._state:
            if not self._bindings:
                raise Closed("the stream")
            self.asking += 1
        try:
            return call(*arguments)
        finally:
            with self._state:
                self.asking -= 1

    def _failed(self, sequence: int, error: Exception, call: str) -> GarError:
        assert self.device is not None
        failure = _as_gar_error(error, f"{self.device.name}.{call}")
        with self._state:
            if self._authority_failure is None or not reached(sequence, self._failed_from):
                self._authority_failure, self._failed_from = failure, sequence
            if self._failure is None:
                self._failure = failure
        return failure

    def _refuse_if_failed(self) -> None:
        if self._failure is not None:
            raise StreamFailed(self._failure.text, status=self._failure.status)

    # ---- The end.

    def take_no_records(self) -> None:
        """From now on; one that is being made just now is the last."""
        with self._arming:
            self._takes_no_records = True

    def settle(self) -> None:
        """Blocks until every store has landed; no other is armed. SettleFailed: its pages are kept
        for ever."""
        self.take_no_records()
        with self._arming:
            if self.device is None:
                return
            try:
                self.device.settle()
            except Exception as error:
                _kept.append((self.device, list(self._bindings)))
                raise SettleFailed(len(self._bindings), str(error)) from error

    def close_device(self) -> None:
        """When it was let go and no thread is in it."""
        if self.device is None:
            return
        try:
            self.device.close()
        except Exception as error:
            raise _as_gar_error(error, f"{self.device.name}.close") from error


def _store(binding: Binding, sequence: int) -> None:
    binding.word.store(sequence)
    bell = binding.bell
    if bell is not None and binding.link is not None:
        bell.ring(binding.stream, sequence)


def _as_gar_error(error: Exception, call: str) -> GarError:
    if isinstance(error, GarError):
        return error
    return Backend(call, f"{type(error).__name__}: {error}")
