"""The short numbers that stand for a client's point names on one connection.

PROTOCOL.md, "Plans" (point). When all are taken, the one used least recently gets the new name.
Pure.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Tuple

POINTS_MAX = 256


class PointNumbers:
    def __init__(self) -> None:
        self._used: "OrderedDict[str, int]" = OrderedDict()  # the most recently used last

    def number_of(self, name: str) -> Tuple[int, bool]:
        """The number, and whether its meaning is new: say so before it is used."""
        number = self._used.pop(name, None)
        fresh = number is None
        if number is None:
            number = len(self._used) + 1
            if number > POINTS_MAX:
                _, number = self._used.popitem(last=False)
        self._used[name] = number
        return number, fresh
