"""Where gard's sockets are, in the order in which a client looks.

PROTOCOL.md, "Transport and sockets". A set-uid program's environment is ignored.
Errors: InvalidArgument for a path of the environment that is not absolute.
"""

from __future__ import annotations

import os
import socket
from typing import List, Optional

from .error_numbers import InvalidArgument

_PATH_BYTES_MAX = 107


def environment(name: str) -> str:
    if os.geteuid() != os.getuid() or os.getegid() != os.getgid():
        return ""
    return os.environ.get(name, "")


def clients_paths(given: Optional[str]) -> List[str]:
    if given is not None:
        return [_checked("socket_path", given, absolute=False)]
    named = environment("GARD_SOCKET")
    if named:
        return [_checked("GARD_SOCKET", named, absolute=True)]
    paths = ["/run/gard/gard.sock"]
    runtime = environment("XDG_RUNTIME_DIR")
    below = os.path.join(runtime, "gard/gard.sock")
    if runtime.startswith("/") and len(os.fsencode(below)) <= _PATH_BYTES_MAX:
        paths.append(below)
    return paths


def connect_at(path: str) -> socket.socket:
    """A connected socket that does not block. OSError where nobody listens, or nobody accepts."""
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
    try:
        peer.setblocking(False)
        peer.connect(path)
    except OSError:
        peer.close()
        raise
    return peer


def _checked(origin: str, path: str, *, absolute: bool) -> str:
    if not path or "\0" in path or len(os.fsencode(path)) > _PATH_BYTES_MAX:
        raise InvalidArgument(origin, f"expected a path of 1..{_PATH_BYTES_MAX} bytes")
    if absolute and not path.startswith("/"):
        raise InvalidArgument(origin, "expected an absolute path")
    return path
