"""A client made of nothing but PROTOCOL.md, which does what no client should."""

import array
import mmap
import os
import select
import socket
import struct
import time

HELLO, WELCOME, PAGE, OPEN, OPENED, CLOSE, CLOSED, PLAN, POINT, WAIT = range(1, 11)
CANCEL, COMPLETION, PROBE, STATUS, OUTCOME, ERROR, BYE, ASK, ANSWER, KICK = range(11, 21)

OUT_OF_STATE, UNEXPECTED_DESCRIPTORS, UNKNOWN_STREAM = 0x12, 0x14, 0x15
DUPLICATE_COOKIE, LIMIT_CLIENTS, LIMIT_STREAMS, LIMIT_WAITS = 0x17, 0x19, 0x1a, 0x1b
LIMIT_PAGES, LIMIT_PER_USER, SLOW_READER, PERMISSION_DENIED = 0x1c, 0x1e, 0x1f, 0x20
HANDSHAKE_TIMEOUT, MALFORMED = 0x29, 0x10

OWNER, WORD = 0, 1  # who is the authority of a stream
FRAME_BYTES = 4096
DESCRIPTORS_MAX = 253  # that Linux takes with one message


def frame(kind, body, count=0):
    return struct.pack("<HHI", kind, count, 8 + len(body)) + body


def hello(name="hostile", ring=False):
    return frame(HELLO, struct.pack("<HHI64s", 1, 1, int(ring), name.encode()))


def open_stream(cookie, authority=WORD, base=0):
    return frame(OPEN, struct.pack("<QQB7x64s", cookie, base, authority, b"hostile"))


def close_stream(cookie, stream, generation, last=0):
    return frame(CLOSE, struct.pack("<QIIQ", cookie, stream, generation, last))


def wait(*entries):
    """Each (cookie, target, plan generation, stream, stream generation)."""
    return frame(WAIT, b"".join(struct.pack("<QQQQQIIII", cookie, target, 0, 0, plans, stream,
                                            generation, 0, 0)
                                for cookie, target, plans, stream, generation in entries),
                 len(entries))


def cancel(cookie):
    return frame(CANCEL, struct.pack("<Q", cookie))


def point(number, name):
    return frame(POINT, struct.pack("<II64s", number, 0, name.encode()))


def status(*entries):
    """Each (probe, sequence, stream, stream generation): the owner says that it is done."""
    return frame(STATUS, b"".join(struct.pack("<QQIIB3xi48s", *entry, 1, 0, b"")
                                  for entry in entries), len(entries))


def ask(cookie, text):
    return frame(ASK, struct.pack("<Q", cookie) + text.encode(), len(text))


class Hostile:
    """One connection. `fds`: what the welcome and further pages brought, by name."""

    def __init__(self, path, patience_s=5):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(patience_s)
        try:
            self.socket.connect(str(path))
        except OSError:
            self.socket.close()
            raise
        self.fds = {}
        self.plan_generation = 0
        self.client_id = 0
        self.ring_entries = 0
        self.request_flag = 0
        self.came = []  # descriptors of the last frame
        self.maps = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        self.socket.close()
        for fd in [*self.fds.values(), *self.came]:
            os.close(fd)
        self.fds, self.came = {}, []
        for each in self.maps:
            each.close()
        self.maps = []

    def send(self, data, descriptors=()):
        """False: gard has closed."""
        controls = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        try:
            self.socket.sendmsg([data], controls if descriptors else [])
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def receive(self):
        """The next frame; empty at the end."""
        try:
            data, controls, *_ = self.socket.recvmsg(FRAME_BYTES, socket.CMSG_SPACE(8 * 4))
        except ConnectionResetError:
            return b""
        for fd in self.came:
            os.close(fd)
        self.came = []
        for _, _, fds in controls:
            self.came += array.array("i", fds[:len(fds) - len(fds) % 4])
        return data

    def next(self, *kinds):
        """Reads up to a frame of one of these types; empty where the connection ended before."""
        while True:
            data = self.receive()
            if not data or kind_of(data) in kinds:
                return data

    def greet(self, name="hostile", ring=False):
        self.send(hello(name, ring))
        data = self.next(WELCOME, ERROR)
        if kind_of(data) != WELCOME:
            return data
        scopes, = struct.unpack_from("<H", data, 10)
        self.client_id, = struct.unpack_from("<Q", data, 16)
        self.plan_generation, = struct.unpack_from("<Q", data, 40)
        self.ring_entries, self.request_flag = struct.unpack_from("<II", data, 80)
        names = ("lines", "doorbell", "state", "ring", "pipe")
        self.fds = dict(zip(names, self.came))
        self.came = []
        for _ in range(scopes):
            self.next(PLAN)
        return data

    def open(self, cookie=1, authority=WORD):
        """stream, generation, page, offset of its word; or the error's frame."""
        self.send(open_stream(cookie, authority))
        data = self.next(OPENED, ERROR)
        if kind_of(data) != OPENED:
            return data
        stream, generation, page, line, slot = struct.unpack_from("<IIHHH", data, 24)
        return stream, generation, page, line * 64 + slot * 8

    def map(self, name):
        fd = self.fds[name]
        mapped = mmap.mmap(fd, os.fstat(fd).st_size)
        self.maps.append(mapped)
        return mapped

    def answer(self, text, cookie=7):
        """The JSON that answers an ask; an error's frame; or empty."""
        self.send(ask(cookie, text))
        whole = b""
        while True:
            data = self.next(ANSWER, ERROR)
            if not data or kind_of(data) == ERROR:
                return data
            total, = struct.unpack_from("<I", data, 20)
            whole += data[24:]
            if len(whole) == total:
                return whole

    def readable(self, seconds=0):
        return bool(select.select([self.socket], [], [], seconds)[0])


def kind_of(data):
    return struct.unpack_from("<H", data)[0] if data else 0


def error_of(data):
    """The code and whether it is fatal, of an error's frame."""
    if kind_of(data) != ERROR:
        return None, None
    return struct.unpack_from("<H", data, 16)[0], data[20] == 1


def completions(data):
    """Each (cookie, code) of a completion frame."""
    count, = struct.unpack_from("<H", data, 2)
    for i in range(count):
        cookie, = struct.unpack_from("<Q", data, 8 + 88 * i)
        code, = struct.unpack_from("<H", data, 8 + 88 * i + 32)
        yield cookie, code


def patiently(path, seconds=5):
    """A connection, tried again where gard has closed or was not there."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return Hostile(path)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
