"""The messages of gard's clients' socket: their layouts, and frames to and from them.

Written from proto/PROTOCOL.md ("Frames"). Every message is a fixed part and `count` entries or bytes
of text, and not a byte more. `decode` believes nothing: what it returns keeps to every rule of the
page, and what does not is MalformedMessage or UnknownMessage. Pure; no socket, no clock.
"""

from __future__ import annotations

import struct
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Type

from .error_numbers import MalformedMessage, UnknownMessage
from .text import has_controls

FRAME_BYTES_MIN = 8
FRAME_BYTES_MAX = 4096
ANSWER_BYTES_MAX = 16 << 20
FEATURE_RING = 1
_HEADER = struct.Struct("<HHI")


# ---- The messages. Field names are PROTOCOL.md's.

class Driver(NamedTuple):
    name: str
    available: int
    why: str


class Hello(NamedTuple):
    version_min: int
    version_max: int
    features: int
    client_name: str
    entries: Sequence[Driver] = ()


class Welcome(NamedTuple):
    version: int
    plan_scopes: int
    features: int
    client_id: int
    page_bytes: int
    streams_max: int
    waits_max: int
    pages_max: int
    plan_generation: int
    word_wait: str
    executor: str
    ring_entries: int
    request_flag: int


class Page(NamedTuple):
    page_index: int
    page_bytes: int


class Open(NamedTuple):
    cookie: int
    base: int
    authority: int
    stream_name: str


class Opened(NamedTuple):
    cookie: int
    base: int
    stream: int
    stream_generation: int
    page_index: int
    line_index: int
    slot: int


class Close(NamedTuple):
    cookie: int
    stream: int
    stream_generation: int
    last_sequence: int


class Closed(NamedTuple):
    cookie: int


class PlanScope(NamedTuple):
    generation: int
    scope: int
    scope_index: int
    scopes: int
    point_name: str
    text: str = ""


class Point(NamedTuple):
    point: int
    point_name: str


class Wait(NamedTuple):
    cookie: int
    target: int
    age_ns: int
    timeout_ns: int
    plan_generation: int
    stream: int
    stream_generation: int
    point: int
    rows: int


class Waits(NamedTuple):
    entries: Sequence[Wait]


class Cancel(NamedTuple):
    cookie: int


class Completion(NamedTuple):
    cookie: int
    wait_ns: int
    slept_ns: int
    parks: int
    backstop_queries: int
    code: int
    kind: int
    confirmed: int
    status: int
    call: str


class Completions(NamedTuple):
    entries: Sequence[Completion]


class Probe(NamedTuple):
    probe_id: int
    sequence: int
    stream: int
    stream_generation: int


class Probes(NamedTuple):
    entries: Sequence[Probe]


class Status(NamedTuple):
    probe_id: int
    sequence: int
    stream: int
    stream_generation: int
    state: int
    status: int
    call: str


class Statuses(NamedTuple):
    entries: Sequence[Status]


class Outcome(NamedTuple):
    wait_ns: int
    slept_ns: int
    sample_ns: int
    stream: int
    stream_generation: int
    point: int
    parks: int
    backstop_queries: int
    rows: int
    code: int
    what: int
    kind: int
    sample: int


class Outcomes(NamedTuple):
    entries: Sequence[Outcome]


class Refusal(NamedTuple):
    """PROTOCOL.md's `error`."""
    cookie: int
    code: int
    request_type: int
    fatal: int
    text: str = ""


class Bye(NamedTuple):
    code: int


class Ask(NamedTuple):
    cookie: int
    text: str


class Answer(NamedTuple):
    cookie: int
    offset_bytes: int
    total_bytes: int
    text: str


class Kick(NamedTuple):
    pass


# ---- Layouts.

class _Part:
    """A fixed part or an entry. Of its tokens H, I, i, Q, B are integers, nN a name and tN a text
    in N bytes, xN reserved bytes."""

    def __init__(self, record: Type[Any], tokens: str, **ranges: Tuple[int, int]) -> None:
        self.record = record
        self.tokens = tokens.split()
        letters = []
        for token in self.tokens:
            letters.append(f"{token[1:]}s" if token[0] in "ntx" else token)
        self.struct = struct.Struct("<" + "".join(letters))
        self.bytes = self.struct.size
        self.plain = all(token in "HIQBi" for token in self.tokens)
        self.ranges = list(ranges.items())

    def read(self, values: Tuple[Any, ...]) -> List[Any]:
        if self.plain:
            return list(values)
        fields: List[Any] = []
        for token, value in zip(self.tokens, values):
            if token[0] == "x":
                _need(not any(value), "reserved bytes are not 0")
            elif token[0] in "nt":
                fields.append(_text_of_field(value, token[0] == "n"))
            else:
                fields.append(value)
        return fields

    def write(self, fields: Sequence[Any]) -> bytes:
        if self.plain:
            return self.struct.pack(*fields)
        values: List[Any] = []
        left = iter(fields)
        for token in self.tokens:
            if token[0] == "x":
                values.append(b"")
            elif token[0] in "nt":
                raw = str(next(left)).encode()
                _need(len(raw) < int(token[1:]), "a text is too long for its field")
                values.append(raw)
            else:
                values.append(next(left))
        return self.struct.pack(*values)

    def check(self, record: Any) -> None:
        for name, (least, most) in self.ranges:
            _need(least <= getattr(record, name) <= most, f"{name} is out of its range")


class _Layout(NamedTuple):
    message: Type[Any]
    fixed: Optional[_Part]
    entry: Optional[_Part]  # None: where count_max is not 0, a text
    count_min: int
    count_max: int
    descriptors: int
    check: Optional[Callable[[Any], None]] = None


def _check_hello(m: Hello) -> None:
    _need(1 <= m.version_min <= m.version_max, "versions are out of order")


def _check_welcome(m: Welcome) -> None:
    _need(m.page_bytes > 0 and m.page_bytes % 4096 == 0, "page_bytes is no multiple of 4096")
    if m.features & FEATURE_RING:
        power = m.ring_entries & (m.ring_entries - 1) == 0
        _need(64 <= m.ring_entries <= 4096 and power, "ring_entries is out of its range")
        _need(m.request_flag <= 3071, "request_flag is out of its range")
    else:
        _need(m.ring_entries == 0 and m.request_flag == 0, "a ring's fields without a ring")


def _check_page(m: Page) -> None:
    _need(m.page_bytes > 0 and m.page_bytes % 4096 == 0, "page_bytes is no multiple of 4096")


def _check_plan(m: PlanScope) -> None:
    _need(m.scope_index < m.scopes, "scope_index is out of its range")
    _need((m.point_name != "") == (m.scope >= 2), "a point that its scope does not have")
    _no_controls(m.text)


def _check_refusal(m: Refusal) -> None:
    _no_controls(m.text)


def _check_answer(m: Answer) -> None:
    end = m.offset_bytes + len(m.text.encode())
    _need(end <= m.total_bytes, "a part ends behind its answer")


_LAYOUTS: Dict[int, _Layout] = {
    1: _Layout(Hello, _Part(Hello, "H H I n64"),
               _Part(Driver, "n16 B x7 t128", available=(0, 1)), 0, 8, 0, _check_hello),
    2: _Layout(Welcome, _Part(Welcome, "H H I Q I I I I Q n16 n16 I I", version=(1, 65535),
                              plan_scopes=(1, 8192), pages_max=(1, 16)),
               None, 0, 0, 3, _check_welcome),
    3: _Layout(Page, _Part(Page, "H x2 I", page_index=(1, 15)), None, 0, 0, 1, _check_page),
    4: _Layout(Open, _Part(Open, "Q Q B x7 t64", authority=(0, 1)), None, 0, 0, 0),
    5: _Layout(Opened, _Part(Opened, "Q Q I I H H H x2", page_index=(0, 15), slot=(0, 7)),
               None, 0, 0, 0),
    6: _Layout(Close, _Part(Close, "Q I I Q"), None, 0, 0, 0),
    7: _Layout(Closed, _Part(Closed, "Q"), None, 0, 0, 0),
    8: _Layout(PlanScope, _Part(PlanScope, "Q H H H x2 t64", scope=(0, 3), scopes=(1, 8192)),
               None, 1, 512, 0, _check_plan),
    9: _Layout(Point, _Part(Point, "I x4 n64", point=(1, 256)), None, 0, 0, 0),
    10: _Layout(Waits, None, _Part(Wait, "Q Q Q Q Q I I I I", point=(0, 256)), 1, 73, 0),
    11: _Layout(Cancel, _Part(Cancel, "Q"), None, 0, 0, 0),
    12: _Layout(Completions, None,
                _Part(Completion, "Q Q Q I I H B B i t48", kind=(0, 3), confirmed=(0, 1)),
                1, 46, 0),
    13: _Layout(Probes, None, _Part(Probe, "Q Q I I"), 1, 170, 0),
    14: _Layout(Statuses, None, _Part(Status, "Q Q I I B x3 i t48", state=(0, 2)), 1, 51, 0),
    15: _Layout(Outcomes, None,
                _Part(Outcome, "Q Q Q I I I I I I H B B B x3", point=(0, 256), what=(0, 2),
                      kind=(0, 3), sample=(0, 2)), 1, 73, 0),
    16: _Layout(Refusal, _Part(Refusal, "Q H H B x3", code=(1, 65535), fatal=(0, 1)),
                None, 0, 1024, 0, _check_refusal),
    17: _Layout(Bye, _Part(Bye, "H x6"), None, 0, 0, 0),
    18: _Layout(Ask, _Part(Ask, "Q"), None, 1, 3072, 0),
    19: _Layout(Answer, _Part(Answer, "Q I I", total_bytes=(1, ANSWER_BYTES_MAX)),
                None, 1, 4072, 0, _check_answer),
    20: _Layout(Kick, _Part(Kick, ""), None, 0, 0, 0),
}
TYPE_OF: Dict[Type[Any], int] = {layout.message: type_ for type_, layout in _LAYOUTS.items()}
WAIT_TYPE = TYPE_OF[Waits]
WAITS_MAX = _LAYOUTS[10].count_max
STATUSES_MAX = _LAYOUTS[14].count_max
OUTCOMES_MAX = _LAYOUTS[15].count_max


# ---- Encoding and decoding.

def descriptors_of(message: Any) -> int:
    """How many descriptors travel with it."""
    if isinstance(message, Welcome) and message.features & FEATURE_RING:
        return 5
    return _LAYOUTS[TYPE_OF[type(message)]].descriptors


def encode(message: Any) -> bytes:
    """A message's frame. MalformedMessage for a text that does not fit its field."""
    type_ = TYPE_OF[type(message)]
    layout = _LAYOUTS[type_]
    body = b""
    if layout.fixed:
        body = layout.fixed.write(message[:len(layout.fixed.record._fields) - _behind(layout)])
    count = 0
    if layout.entry:
        count = len(message.entries)
        body += b"".join(layout.entry.write(entry) for entry in message.entries)
    elif layout.count_max:
        text = message.text.encode()
        count = len(text)
        body += text
    return _HEADER.pack(type_, count, 8 + len(body)) + body


def decode(frame: bytes) -> Any:
    """The message of a frame that came from a peer."""
    _need(FRAME_BYTES_MIN <= len(frame) <= FRAME_BYTES_MAX, "its length")
    type_, count, size = _HEADER.unpack_from(frame)
    _need(size == len(frame), "its length is not what its header says")
    layout = _LAYOUTS.get(type_)
    if layout is None:
        raise UnknownMessage(type_)
    fixed_bytes = 8 + (layout.fixed.bytes if layout.fixed else 0)
    entry_bytes = layout.entry.bytes if layout.entry else 1 if layout.count_max else 0
    _need(layout.count_min <= count <= layout.count_max, "its count")
    _need(len(frame) == fixed_bytes + count * entry_bytes, "its length does not fit its count")
    fields: List[Any] = []
    if layout.fixed:
        fields = layout.fixed.read(layout.fixed.struct.unpack_from(frame, 8))
    if layout.entry:
        fields.append(_entries(layout.entry, frame[fixed_bytes:]))
    elif layout.count_max:
        fields.append(_text(frame[fixed_bytes:]))
    message = layout.message(*fields)
    if layout.fixed:
        layout.fixed.check(message)
    if layout.check:
        layout.check(message)
    return message


def _entries(part: _Part, raw: bytes) -> List[Any]:
    entries = []
    for values in part.struct.iter_unpack(raw):
        entry = part.record(*part.read(values))
        part.check(entry)
        entries.append(entry)
    return entries


def _behind(layout: _Layout) -> int:
    """How many of the message's own fields stand behind its fixed part."""
    return 1 if layout.count_max else 0


def _need(right: bool, fault: str) -> None:
    if not right:
        raise MalformedMessage(fault)


def _text(raw: bytes) -> str:
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise MalformedMessage("a text is not UTF-8") from None
    _need("\0" not in text, "a text holds a NUL")
    return text


def _text_of_field(raw: bytes, is_name: bool) -> str:
    text, nul, padding = raw.partition(b"\0")
    _need(nul != b"", "no NUL ends a field")
    _need(not any(padding), "a field's padding is not NUL")
    _need(not is_name or text != b"", "a name is empty")
    decoded = _text(text)
    _no_controls(decoded)
    return decoded


def _no_controls(text: str) -> None:
    _need(not has_controls(text), "a text holds a control character")
