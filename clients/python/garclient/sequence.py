"""Sequence numbers: 64-bit, compared in wrapping order, and the record of those that are in flight.

PROTOCOL.md, "Frames" (numbers of a word) and "Streams, slots, recording". Pure.
"""

from __future__ import annotations

from collections import deque
from typing import Deque

MASK = (1 << 64) - 1
UNCONFIRMED_MAX = 256


def reached(a: int, b: int) -> bool:
    """Has a reached b?"""
    return ((a - b) & MASK) < 1 << 63


class Records:
    """The numbers that one stream recorded, and which of them are known to be done.

        base ............ confirmed ............ last
         | done and forgotten |  at most 256 in flight  |

    Work of one stream ends in order, so what is confirmed covers all before it. `rebase` lets the
    stream go on behind a later number, on another word; what was recorded stays recorded.
    Threads: one at a time.
    """

    def __init__(self, base: int) -> None:
        self._base = base
        self.last = base
        self.confirmed = base
        self._in_flight: Deque[int] = deque()

    @property
    def next(self) -> int:
        return (self.last + 1) & MASK

    @property
    def full(self) -> bool:
        return len(self._in_flight) >= UNCONFIRMED_MAX

    @property
    def oldest(self) -> int:
        """Of those in flight."""
        return self._in_flight[0]

    @property
    def newest(self) -> int:
        """Of those recorded; done when all are. `last` may be a slot's, that was never recorded."""
        return self._in_flight[-1] if self._in_flight else self.confirmed

    def issued(self) -> int:
        """The store of `next` was enqueued."""
        self.last = self.next
        self._in_flight.append(self.last)
        return self.last

    def confirm(self, sequence: int) -> None:
        if reached(self.confirmed, sequence) or not reached(self.last, sequence):
            return
        self.confirmed = sequence
        while self._in_flight and reached(sequence, self._in_flight[0]):
            self._in_flight.popleft()

    def rebase(self, base: int) -> None:
        self.last = base
        if not self._in_flight:
            self.confirmed = base

    def is_confirmed(self, sequence: int) -> bool:
        return reached(self.confirmed, sequence)

    def is_recorded(self, sequence: int) -> bool:
        if not 0 <= sequence <= MASK:
            return False
        if reached(self._base, sequence) or not reached(self.last, sequence):
            return False
        return self.is_confirmed(sequence) or sequence in self._in_flight
