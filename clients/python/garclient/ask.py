"""One question to gard over its clients' socket, on a connection of its own.

PROTOCOL.md, "Asking". Needs no hello, so that asking is not being a client.
Threads: any. Blocks for at most a second. Errors: NotReachable, HandshakeTimeout, what gard answers.
"""

from __future__ import annotations

import json
import socket
import time
from typing import Any, Dict, List

from . import frames
from .error import error_said
from .error_numbers import HandshakeTimeout, MalformedMessage, NotReachable

PATIENCE_S = 1.0


def ask(paths: List[str], request: Dict[str, Any]) -> Any:
    """The `result` of gard's answer."""
    tried = []
    for path in paths:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC) as peer:
            peer.settimeout(PATIENCE_S)
            try:
                peer.connect(path)
            except OSError as error:
                tried.append(f"{path}: {error}")
                continue
            return _result(_exchange(peer, json.dumps(request)))
    raise NotReachable("; ".join(tried))


def _exchange(peer: socket.socket, request: str) -> str:
    until_s = time.monotonic() + PATIENCE_S
    text = b""
    try:
        peer.send(frames.encode(frames.Ask(1, request)))
        while True:
            peer.settimeout(max(0.001, until_s - time.monotonic()))
            frame = peer.recv(frames.FRAME_BYTES_MAX + 1)
            if not frame:
                raise NotReachable("it ended the connection")
            message = frames.decode(frame)
            if isinstance(message, frames.Refusal):
                raise error_said(message.code, message.text)
            if not isinstance(message, frames.Answer) or message.offset_bytes != len(text):
                raise MalformedMessage("answer: not the next part")
            text += message.text.encode()
            if len(text) == message.total_bytes:
                return text.decode()
    except socket.timeout as error:
        raise HandshakeTimeout("answer", int(PATIENCE_S * 1000)) from error
    except OSError as error:
        raise NotReachable(str(error)) from error


def _result(text: str) -> Any:
    try:
        answer = json.loads(text)
    except ValueError as error:
        raise MalformedMessage("answer: no JSON") from error
    if not answer.get("ok"):
        refusal = answer.get("error", {})
        raise error_said(int(refusal.get("code", 0)), str(refusal.get("text", "")))
    return answer["result"]
