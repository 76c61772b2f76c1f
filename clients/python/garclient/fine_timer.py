"""Timers of an event loop that are due to the microsecond.

asyncio rounds its sleeps up to a whole millisecond, which is longer than many a wait. One timerfd
of the loop, set to the earliest of all, wakes it in time; where there is none, its own timers serve.

Threads: the loop's. Due times are CLOCK_MONOTONIC in ns, as time.monotonic_ns().
"""

from __future__ import annotations

import asyncio
import ctypes
import heapq
import os
import time
from typing import Any, Callable, List, Optional, Tuple

_CLOCK_MONOTONIC = 1
_ABSOLUTE = 1
_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC

_libc = ctypes.CDLL(None, use_errno=True)


class _TimerSpec(ctypes.Structure):
    _fields_ = [("interval_s", ctypes.c_long), ("interval_ns", ctypes.c_long),
                ("value_s", ctypes.c_long), ("value_ns", ctypes.c_long)]


class Alarm:
    """One callback that is due; `cancel` takes it back."""

    __slots__ = ("callback",)

    def __init__(self, callback: Callable[[], Any]) -> None:
        self.callback: Optional[Callable[[], Any]] = callback

    def cancel(self) -> None:
        self.callback = None


class FineTimer:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._due: List[Tuple[int, int, Alarm]] = []
        self._count = 0
        self._set_ns: Optional[int] = None
        self._fd = -1
        try:
            self._fd = _libc.timerfd_create(_CLOCK_MONOTONIC, _FLAGS)
            if self._fd >= 0:
                loop.add_reader(self._fd, self._rung)
        except (AttributeError, NotImplementedError):
            self.close()

    def close(self) -> None:
        if self._fd >= 0:
            try:
                self._loop.remove_reader(self._fd)
            except (NotImplementedError, RuntimeError):
                pass
            os.close(self._fd)
        self._fd = -1
        self._due.clear()

    def call_at(self, due_ns: int, callback: Callable[[], Any]) -> Alarm:
        alarm = Alarm(callback)
        self._count += 1
        heapq.heappush(self._due, (due_ns, self._count, alarm))
        if self._set_ns is None or due_ns < self._set_ns:
            self._set()
        return alarm

    def _set(self) -> None:
        while self._due and self._due[0][2].callback is None:
            heapq.heappop(self._due)
        if not self._due:
            self._set_ns = None
            return
        due_ns = self._set_ns = self._due[0][0]
        if self._fd < 0:
            left_s = max(0, due_ns - time.monotonic_ns()) / 1e9
            self._loop.call_later(left_s, self._rung)
            return
        at_ns = max(due_ns, 1)  # 0 would switch it off
        spec = _TimerSpec(0, 0, at_ns // 10**9, at_ns % 10**9)
        _libc.timerfd_settime(self._fd, _ABSOLUTE, ctypes.byref(spec), None)

    def _rung(self) -> None:
        if self._fd >= 0:
            try:
                os.read(self._fd, 8)
            except BlockingIOError:
                pass
        now_ns = time.monotonic_ns()
        self._set_ns = None
        while self._due and self._due[0][0] <= now_ns:
            callback = heapq.heappop(self._due)[2].callback
            if callback is not None:
                callback()
        if self._set_ns is None or (self._due and self._due[0][0] < self._set_ns):
            self._set()
