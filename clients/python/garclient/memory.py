"""Shared pages: memory files that gard sealed, words in them, and a client's own.

PROTOCOL.md, "Shared memory". Seals and size are looked at before a page is mapped, else its other
holder could shrink it and the next read would end this process.

Memory order: reading and storing an aligned word through a memoryview of 64-bit items is one load
or store of eight bytes. `fence` orders what stands before it against what stands behind it, on
every CPU: Python has no fence, but letting a lock go and then taking another is one.
Ownership: a mapping lives as long as something refers to it and is never unmapped by hand.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import threading
from typing import Any, Dict, Optional

from .error_numbers import MalformedMessage, SystemCall
from .sequence import MASK

WORD_BYTES = 8
WORDS_PER_LINE = 8
_DOORBELL_BYTES = 3200
_STATE_BYTES = 16
_SEALS_FIXED = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
_SEAL_FUTURE_WRITE = 0x10


def fence() -> None:
    """A full memory fence of the calling thread."""
    for _ in range(2):
        with threading.Lock():
            pass


def page_bytes() -> int:
    return max(4096, os.sysconf("SC_PAGESIZE"))


class Page:
    """A page of words, mapped writable: gard's, or this process's own."""

    def __init__(self, fd: int, size: int, *, writable: bool = True) -> None:
        """Takes the descriptor, also where it fails."""
        self.fd = fd
        self.bytes = size
        try:
            access = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
            self._map = mmap.mmap(fd, size, mmap.MAP_SHARED, access)
        except (OSError, ValueError) as error:
            os.close(fd)
            raise SystemCall("mmap", str(error)) from error
        self.words = memoryview(self._map).cast("B").cast("Q")
        self.mapped: Dict[object, Any] = {}  # by a device's key: what that device knows it as

    def __del__(self) -> None:
        try:
            os.close(self.fd)
        except (AttributeError, OSError):
            pass

    @property
    def address(self) -> int:
        """Where it is mapped, for a device's driver."""
        return ctypes.addressof(ctypes.c_char.from_buffer(self._map))

    @classmethod
    def own(cls, size: Optional[int] = None) -> Page:
        size = size or page_bytes()
        try:
            fd = os.memfd_create("gar-words", os.MFD_CLOEXEC)
            os.ftruncate(fd, size)
        except OSError as error:
            raise SystemCall("memfd_create", str(error)) from error
        return cls(fd, size)

    @classmethod
    def of_gard(cls, fd: int, size: int) -> Page:
        """A lines page, of exactly `size` bytes."""
        _check(fd, "lines page", exact=size)
        return cls(fd, size)

    @classmethod
    def doorbell(cls, fd: int) -> Page:
        return cls(fd, _check(fd, "doorbell page", least=_DOORBELL_BYTES))

    @classmethod
    def state(cls, fd: int) -> Page:
        size = _check(fd, "state page", least=_STATE_BYTES, seals=_SEALS_FIXED | _SEAL_FUTURE_WRITE)
        return cls(fd, size, writable=False)


def _check(fd: int, what: str, *, exact: int = 0, least: int = 0,
           seals: int = _SEALS_FIXED) -> int:
    """The size of a memory file that is sealed as promised. Closes it where it is not."""
    fault = ""
    size = 0
    try:
        size = os.fstat(fd).st_size
        if fcntl.fcntl(fd, fcntl.F_GET_SEALS) & seals != seals:
            fault = "its seals"
        elif exact and size != exact or size < least or size % WORD_BYTES:
            fault = "its size"
    except OSError as error:
        fault = "no memory file" if error.errno == errno.EINVAL else str(error)
    if fault:
        os.close(fd)
        raise MalformedMessage(f"{what}: {fault}")
    return size


class Word:
    """One completion word, for whoever stores into it: another thread, or, by the descriptor and
    offset of its page, another process."""

    __slots__ = ("page", "index")

    def __init__(self, page: Page, index: int) -> None:
        self.page = page
        self.index = index

    @property
    def offset_bytes(self) -> int:
        """Where in its page it is, for who maps that by its descriptor, `page.fd`."""
        return self.index * WORD_BYTES

    def load(self) -> int:
        """What is stored there just now. It wakes whoever waits; whether the work is done, the
        device says."""
        return self.page.words[self.index]

    def store(self, value: int) -> None:
        """Stores a number that `Stream.record` gave, behind all that this thread wrote before.
        Numbers of one word rise. Unlike `Stream.signal` it does not ring gard, which then sees it
        when it looks next, after a park at the latest."""
        fence()
        self.page.words[self.index] = value & MASK


class Bell:
    """gard's doorbell, as one client rings it."""

    __slots__ = ("page", "index", "_client")

    def __init__(self, page: Page, client_id: int) -> None:
        self.page = page
        self.index = client_id % 8
        self._client = 1 << 63 | (client_id & 0x7FFF) << 48

    @property
    def offset_bytes(self) -> int:
        return self.index * WORD_BYTES

    def value(self, stream: int, sequence: int) -> int:
        return self._client | (stream & 0xFFFF) << 32 | sequence & 0xFFFFFFFF

    def ring(self, stream: int, sequence: int) -> None:
        fence()
        self.page.words[self.index] = self.value(stream, sequence)


class OwnWords:
    """Words for streams that no gard has a place for. A word that was given back keeps its number,
    and the next stream there goes on behind it.

    Threads: one at a time.
    """

    PAGES_MAX = 16

    def __init__(self) -> None:
        self._pages = 0
        self._free: "list[Word]" = []

    @property
    def words_max(self) -> int:
        return self.PAGES_MAX * page_bytes() // WORD_BYTES

    def take(self) -> Optional[Word]:
        """None where all pages are in use."""
        if not self._free:
            if self._pages == self.PAGES_MAX:
                return None
            page = Page.own()
            self._pages += 1
            self._free = [Word(page, i) for i in reversed(range(len(page.words)))]
        return self._free.pop()

    def give_back(self, word: Word, last: int) -> None:
        word.store(last)
        self._free.append(word)
