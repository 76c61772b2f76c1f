"""Texts that go to gard: UTF-8 of a bounded length, without control characters.

PROTOCOL.md, "Frames" (texts). Pure.
"""

from __future__ import annotations

from .error_numbers import InvalidArgument

NAME_BYTES_MAX = 63


def has_controls(text: str) -> bool:
    return not text.isprintable() and any(c < " " or "\x7f" <= c <= "\x9f" for c in text)


def checked_name(argument: str, text: str) -> str:
    """A caller's name, or "" for none."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        size = NAME_BYTES_MAX + 1
    if size > NAME_BYTES_MAX or has_controls(text):
        raise InvalidArgument(argument, f"expected at most {NAME_BYTES_MAX} bytes of plain text")
    return text


def fitted(text: str, bytes_max: int) -> str:
    """A plain text of at most so many bytes, from a text of any kind."""
    plain = "".join(c if c.isprintable() else "?" for c in text)
    return plain.encode("utf-8", "replace")[:bytes_max].decode("utf-8", "ignore")
