"""How long a wait can sleep before it must look, from the last waits at the same point.

PROTOCOL.md, "Plans" (`+predict`). Integer nanoseconds in, integer nanoseconds out. Pure.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Deque, Optional

from .plans import Prediction

_SAMPLES_MAX = 16
_POINTS_MAX = 1024


class Estimate:
    """The samples of one point; a plan looks at its last `window` of them."""

    def __init__(self) -> None:
        self._samples: Deque[int] = deque(maxlen=_SAMPLES_MAX)

    def predicted_ns(self, window: int) -> Optional[int]:
        kept = list(self._samples)[-window:]
        return min(kept) if kept else None

    def sleep_ns(self, by: Optional[Prediction]) -> int:
        """0: do not sleep."""
        if by is None:
            return 0
        predicted = self.predicted_ns(by.window)
        if predicted is None:
            return 0
        sleep = max(0, predicted - by.margin_ns)
        return 0 if sleep < by.min_sleep_ns else min(sleep, by.max_sleep_ns)

    def exact(self, residual_ns: int) -> None:
        self._samples.append(residual_ns)

    def late(self, woke_ns: int, window: int) -> None:
        predicted = self.predicted_ns(window)
        self._samples.append((woke_ns if predicted is None else min(woke_ns, predicted)) // 2)


class Estimates:
    """By point, or by stream where a wait names none; the least recently used goes."""

    def __init__(self) -> None:
        self._by_key: "OrderedDict[object, Estimate]" = OrderedDict()

    def of(self, key: object) -> Estimate:
        found = self._by_key.pop(key, None) or Estimate()
        self._by_key[key] = found
        if len(self._by_key) > _POINTS_MAX:
            self._by_key.popitem(last=False)
        return found
