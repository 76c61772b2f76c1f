"""What a device must be able to do so that its streams can be awaited.

A "stream" is anything that runs work in order and can store 8 bytes behind it. CUDA and HIP streams
are devices of driver.py; a program's own subclasses `Device`, one object for each of its streams.

Threads: `query`, `block` and `idle` may be called from any thread; of `arm` and `settle` one at a
time; `close` when every other call has returned, and none comes after it. None may call back into
the client, and no lock of the client's is held around them but, around `arm` and `settle`, the
stream's own. What they raise, if it is no GarError, becomes Backend.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, Optional

from .memory import Page, Word


class Store(NamedTuple):
    """One 8-byte store, of `value` into a word."""
    word: Word
    value: int


class Device(ABC):
    """One stream of a device."""

    name = "device"
    # Why its records store nothing, where that is so: then no word says when, and waits ask.
    no_stores = ""

    @property
    def key(self) -> object:
        """Streams with an equal key share what is mapped."""
        return self

    def map(self, page: Page) -> None:
        """Makes a page known to the device, once for each; before any store into it."""

    def unmap(self, page: Page) -> None:
        """Forgets it; no store into it is pending then. Raises where that cannot be."""

    @abstractmethod
    def arm(self, sequence: int, word: Store, bell: Optional[Store]) -> None:
        """Enqueues, behind all work of the stream so far and in this order, each visible before the
        next: the word's store, then the doorbell's; and whatever makes `query(sequence)` answer."""

    @abstractmethod
    def query(self, sequence: int) -> bool:
        """The authority: is the work recorded under this number done? Never blocks."""

    def idle(self) -> bool:
        """Is there no work on the stream that no record covers yet? False: perhaps."""
        return False

    def block(self, sequence: int, timeout_ns: Optional[int]) -> Optional[bool]:
        """The device's own blocking wait: done? None: it has none."""
        return None

    def settle(self) -> None:
        """Blocks until every store that was enqueued has landed."""

    def close(self) -> None:
        """The stream is closed and its pages are unmapped."""
