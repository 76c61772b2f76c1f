"""Numbers that a caller gives, checked where they come in.

What is wrong with one must end the call that gave it: found later, as many waits go in one message,
it would be the fault of them all. Pure. Errors: InvalidArgument.
"""

from __future__ import annotations

import math
import operator
from typing import Optional, SupportsIndex

from .error_numbers import InvalidArgument

ROWS_MAX = (1 << 32) - 1
_TIMEOUT_S_MAX = 1e9  # and more is none


def checked_rows(rows: SupportsIndex) -> int:
    whole = _whole(rows)
    if whole is None or not 0 <= whole <= ROWS_MAX:
        raise InvalidArgument("rows", f"expected a whole number of 0..{ROWS_MAX}")
    return whole


def checked_sequence(sequence: SupportsIndex) -> int:
    whole = _whole(sequence)
    if whole is None:
        raise InvalidArgument("sequence", "expected a number that `record` gave")
    return whole


def timeout_ns_of(timeout_s: Optional[float]) -> Optional[int]:
    """None: no timeout. One below 0 is over."""
    if timeout_s is None:
        return None
    try:
        seconds = math.fsum((timeout_s,))  # unlike float() it takes no text
    except OverflowError:
        seconds = math.inf if timeout_s > 0 else 0
    except TypeError:
        seconds = math.nan
    if math.isnan(seconds):
        raise InvalidArgument("timeout", "expected seconds, or None")
    if seconds <= 0:
        return 0
    return None if seconds >= _TIMEOUT_S_MAX else round(seconds * 1e9)


def _whole(number: SupportsIndex) -> Optional[int]:
    try:
        return operator.index(number)
    except TypeError:
        return None
