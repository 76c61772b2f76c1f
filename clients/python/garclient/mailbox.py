"""Frames over a connected socket, without blocking the loop.

What the socket has no room for waits in a queue; a peer that lets it grow is a peer that is gone.
Out of order nothing is sent, and after `close` nothing at all.

Threads: the loop's. Ownership: the socket, and of what comes the descriptors, until they are taken.
"""

from __future__ import annotations

import array
import asyncio
import os
import select
import socket
from collections import deque
from typing import Callable, Deque, List, NamedTuple, Optional

from . import frames
from .error_numbers import NotReachable, UnexpectedDescriptors

_UNSENT_MAX = 4096
_DESCRIPTORS_MAX = 16


class Received(NamedTuple):
    frame: bytes
    descriptors: List[int]


class Mailbox:
    def __init__(self, loop: asyncio.AbstractEventLoop, peer: socket.socket,
                 readable: Callable[[], None], full: Callable[[], None]) -> None:
        """Takes the socket. `readable` is called when there is something to `receive`, `full` when
        the peer does not read; neither while something is sent."""
        self._loop = loop
        self._socket = peer
        self._readable = readable
        self._full = full
        self._unsent: Deque[bytes] = deque()
        loop.add_reader(peer.fileno(), readable)

    def close(self) -> None:
        self._loop.remove_reader(self._socket.fileno())
        self._loop.remove_writer(self._socket.fileno())
        self._socket.close()

    # ---- Out.

    def send(self, frame: bytes) -> None:
        if not self._unsent and self._sent(frame):
            return
        if len(self._unsent) == _UNSENT_MAX:
            # Not from here: whoever sends is in the middle of something.
            self._loop.call_soon(self._full)
            return
        if not self._unsent:
            self._loop.add_writer(self._socket.fileno(), self._flush)
        self._unsent.append(frame)

    def _sent(self, frame: bytes) -> bool:
        try:
            self._socket.send(frame)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            return True  # the reader sees the end
        return True

    def _flush(self) -> None:
        while self._unsent and self._sent(self._unsent[0]):
            self._unsent.popleft()
        if not self._unsent:
            self._loop.remove_writer(self._socket.fileno())

    # ---- In.

    def receive(self) -> Optional[Received]:
        """None: nothing has come. Errors: NotReachable, UnexpectedDescriptors."""
        room = array.array("i")
        try:
            frame, ancillary, flags, _ = self._socket.recvmsg(
                frames.FRAME_BYTES_MAX + 1, socket.CMSG_SPACE(_DESCRIPTORS_MAX * room.itemsize),
                socket.MSG_CMSG_CLOEXEC | socket.MSG_DONTWAIT)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError as error:
            raise NotReachable(str(error)) from error
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                room.frombytes(data[:len(data) - len(data) % room.itemsize])
        descriptors = list(room)
        if not frame:
            close_all(descriptors)
            raise NotReachable("it ended the connection")
        if flags & socket.MSG_CTRUNC:
            close_all(descriptors)
            raise UnexpectedDescriptors("too many", "a message", "fewer")
        return Received(frame, descriptors)

    def serve_for(self, left_ns: int) -> None:
        """Blocks until something can be sent or received, and does it, or until the time is over."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN | (select.POLLOUT if self._unsent else 0))
        for _, events in poll.poll(left_ns / 1e6):
            if events & select.POLLOUT:
                self._flush()
            if events & ~select.POLLOUT:
                self._readable()


def close_all(descriptors: List[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
