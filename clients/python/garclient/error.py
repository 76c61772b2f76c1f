"""What every failure of this package is: a number of gard's registry, with its arguments.

The number is the identity, the text is for people and may change. A number that this version does
not know keeps its number and the text that came with it.
"""

from __future__ import annotations

import re
from typing import Optional


class GarError(Exception):
    """`number` of the registry, `arguments` of its message, `status` of the vendor or the
    operating system where there is one, and `remedy`: what a person can do. `summary` is what the
    number says without arguments."""

    number = 0
    kind = "error"
    category = "peer"
    retry = False
    exit_status = 1
    message = "{0}"
    summary = "it failed"
    remedy = ""

    def __init__(self, *arguments: object, status: Optional[int] = None) -> None:
        self.arguments = tuple(str(argument) for argument in arguments)
        self.status = status
        super().__init__(self.text)

    @property
    def text(self) -> str:
        """The message with its arguments in place; the summary where there are none."""
        if not self.arguments:
            return self.summary

        def argument(match: re.Match[str]) -> str:
            index = int(match.group(1))
            return self.arguments[index] if index < len(self.arguments) else "?"

        return re.sub(r"\{(\d)\}", argument, self.message)

    def __str__(self) -> str:
        return self.text

    # The classes that are an OSError too would take the arguments for an errno.
    def __reduce__(self) -> "tuple[object, ...]":
        return (_again, (type(self), self.arguments, self.status, self.number, self.text))


class UnknownError(GarError):
    """A number that this version does not know."""

    def __init__(self, number: int, text: str) -> None:
        self.number = number
        super().__init__(text or f"error {number:#06x}")


def _again(kind: "type[GarError]", arguments: "tuple[str, ...]", status: Optional[int],
           number: int, text: str) -> GarError:
    if issubclass(kind, UnknownError):
        return UnknownError(number, text)
    return kind(*arguments, status=status)


def error_of(number: int, *arguments: object, status: Optional[int] = None) -> GarError:
    """The exception of a number, known or not."""
    from .error_numbers import BY_NUMBER

    kind = BY_NUMBER.get(number)
    if kind is None:
        return UnknownError(number, " ".join(str(argument) for argument in arguments))
    return kind(*arguments, status=status)


def error_said(number: int, text: str) -> GarError:
    """The same for a peer's finished text."""
    error = error_of(number)
    error.message = error.summary = text.replace("{", "(").replace("}", ")")
    error.args = (error.text,)
    return error
