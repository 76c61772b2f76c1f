"""Wait plans: their text, and which of those that gard published a wait runs.

PROTOCOL.md, "Plans". Plans are immutable and in nanoseconds. Pure.
"""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Tuple

from .error_numbers import InvalidPlan, MalformedMessage
from .frames import PlanScope

AS_SHIPPED = ("flag:park_us=100,backstop_us=10000"
              "+predict:margin_us=200,min_sleep_us=50,max_sleep_us=50000,window=8")
OWNER_BACKSTOP_NS_MIN = 100_000_000

_BYTES_MAX = 512
_BANDS_MAX = 4
_NUMBER = re.compile(r"0|[1-9][0-9]*")


class Prediction(NamedTuple):
    margin_ns: int
    min_sleep_ns: int
    max_sleep_ns: int
    window: int


class Plan(NamedTuple):
    """`park` is block, poll or flag; the bounds are a flag plan's."""
    park: str
    park_ns: int = 0
    backstop_ns: int = 0
    predict: Optional[Prediction] = None

    @property
    def silence_ns(self) -> int:
        """How long gard may say nothing about a wait before its owner asks the device itself."""
        longest = self.predict.max_sleep_ns if self.predict else 0
        return max(longest + 2 * self.backstop_ns, OWNER_BACKSTOP_NS_MIN)


Bands = Tuple[Tuple[int, Plan], ...]  # the rows from which on, rising from 0, and the plan


def parse(text: str) -> Bands:
    """InvalidPlan(text, fault) where it is none."""
    if len(text.encode()) > _BYTES_MAX:
        raise InvalidPlan(text, f"it is longer than {_BYTES_MAX} bytes")
    bands: List[Tuple[int, Plan]] = []
    for at, part in enumerate(text.split(";")):
        edge = 0
        if at > 0:
            head, colon, part = part.partition(":")
            if not head.startswith("rows>=") or not colon:
                raise InvalidPlan(text, f"expected 'rows>=' at '{head}'")
            edge = _number(text, "rows", head[len("rows>="):], 1, (1 << 32) - 1)
            if edge <= bands[-1][0]:
                raise InvalidPlan(text, f"rows {edge} is not above the edge before it")
        bands.append((edge, _plan(text, part)))
    if len(bands) > _BANDS_MAX:
        raise InvalidPlan(text, f"more than {_BANDS_MAX} bands")
    return tuple(bands)


def select(bands: Bands, rows: int) -> Plan:
    """An edge belongs to its own band."""
    return [plan for edge, plan in bands if edge <= rows][-1]


def _plan(text: str, part: str) -> Plan:
    park, plus, deadline = part.partition("+")
    predict = None
    if plus:
        name, _, keys = deadline.partition(":")
        if name != "predict":
            raise InvalidPlan(text, f"expected 'predict' at '{name}'")
        predict = _prediction(text, keys)
    name, _, keys = park.partition(":")
    if name == "flag":
        found = _keys(text, keys, {"park_us": (1, 10_000), "backstop_us": (1, 1_000_000)})
        return Plan("flag", found["park_us"] * 1000, found["backstop_us"] * 1000, predict)
    if park not in ("block", "poll"):
        raise InvalidPlan(text, f"'{park}' is no park")
    if park == "block" and predict:
        raise InvalidPlan(text, "block takes no prediction")
    return Plan(park, predict=predict)


def _prediction(text: str, keys: str) -> Prediction:
    found = _keys(text, keys, {"margin_us": (0, 1_000_000), "min_sleep_us": (0, 10_000_000),
                               "max_sleep_us": (0, 10_000_000), "window": (1, 16)})
    if found["min_sleep_us"] > found["max_sleep_us"]:
        raise InvalidPlan(text, "min_sleep_us is above max_sleep_us")
    return Prediction(found["margin_us"] * 1000, found["min_sleep_us"] * 1000,
                      found["max_sleep_us"] * 1000, found["window"])


def _keys(text: str, keys: str, known: Dict[str, Tuple[int, int]]) -> Dict[str, int]:
    found: Dict[str, int] = {}
    for pair in keys.split(","):
        key, _, value = pair.partition("=")
        if key not in known:
            raise InvalidPlan(text, f"'{key}' is not expected here")
        if key in found:
            raise InvalidPlan(text, f"{key} stands there twice")
        found[key] = _number(text, key, value, *known[key])
    for key in known:
        if key not in found:
            raise InvalidPlan(text, f"{key} is missing")
    return found


def _number(text: str, key: str, digits: str, least: int, most: int) -> int:
    if not _NUMBER.fullmatch(digits) or len(digits) > 12:
        raise InvalidPlan(text, f"'{digits}' is not a number for {key}")
    value = int(digits)
    if not least <= value <= most:
        raise InvalidPlan(text, f"{key} is not in {least}..{most}")
    return value


class PlanTable:
    """The plans that gard has published to this client.

        collecting generation g: scope_index 0 .. scopes-1, each once -> all there: g is in force

    A generation comes into force whole or not at all, and an older one never comes back. Until the
    first one does, the fallback is the default, with generation 0.
    Threads: one at a time.
    """

    def __init__(self, fallback: Bands) -> None:
        self._scopes: Dict[Tuple[int, str], Bands] = {(0, ""): fallback}
        self.generation = 0
        self._newest: Optional[int] = None  # None: any generation is newer
        self._collecting: Dict[int, Dict[int, Tuple[PlanScope, Bands]]] = {}

    def start_over(self) -> None:
        """Another gard counts its generations anew."""
        self._newest = None
        self._collecting.clear()

    def publish(self, scope: PlanScope) -> bool:
        """True: its generation is complete and in force now. Errors: InvalidPlan, MalformedMessage;
        what is in force stays."""
        if self._newest is not None and scope.generation <= self._newest:
            return False
        bands = parse(scope.text)
        collected = self._collecting.setdefault(scope.generation, {})
        if scope.scope_index in collected:
            raise MalformedMessage("plan: a scope came twice")
        collected[scope.scope_index] = (scope, bands)
        if any(other.scopes != scope.scopes for other, _ in collected.values()):
            raise MalformedMessage("plan: the number of scopes changed")
        if len(collected) < scope.scopes:
            return False
        scopes = {(of.scope, of.point_name): found for of, found in collected.values()}
        if len(scopes) != scope.scopes or (0, "") not in scopes:
            raise MalformedMessage("plan: no default, or a scope twice")
        self._scopes = scopes
        self.generation = self._newest = scope.generation
        for older in [g for g in self._collecting if g <= scope.generation]:
            del self._collecting[older]
        return True

    def select(self, point: str, rows: int) -> Plan:
        """The first scope that is there of: this point of this client, this point, this client,
        default."""
        keys = [(3, point), (2, point)] if point else []
        for key in [*keys, (1, ""), (0, "")]:
            if key in self._scopes:
                return select(self._scopes[key], rows)
        raise AssertionError("there is always a default")
