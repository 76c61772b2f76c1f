"""A gard that does what a test tells it to, written from PROTOCOL.md: the other end of a client,
silent, lying or dying on request. Left alone it behaves: it watches the words of the waits that it
was given and completes them.

One thread of its own serves every connection; the test's thread tells it what to do and looks at
what came.
"""

import array
import fcntl
import mmap
import os
import select
import socket
import threading
import time

from garclient import frames

PATIENCE_S = 20
SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
SEAL_FUTURE_WRITE = 0x10
PLAN = "flag:park_us=100,backstop_us=10000"


def memory_file(size, seals=SEALS):
    fd = os.memfd_create("scripted", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    mapped = mmap.mmap(fd, size)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    return fd, memoryview(mapped)[:size - size % 8].cast("B").cast("Q")


class Script:
    def __init__(self, **changes):
        self.plan = PLAN
        self.generation = 5
        self.version = 1
        self.ends = False    # each connection, behind its plans
        self.answers_hello = True
        self.completes = True
        self.refuses_open = 0
        self.refuses_waits = 0
        self.base_ahead = 0
        self.page_seals = SEALS
        self.bell_bytes = 4096
        self.state_bytes = 4096
        self.welcome_instead = None
        self.descriptors = 3
        self.on_wait = None  # called for every wait before anything else; True: it is dealt with
        self.deaf = None     # an event: nothing is read until it is set
        self.opens = None    # an event: no open is answered until it is set
        for name, value in changes.items():
            assert hasattr(self, name), name
            setattr(self, name, value)


class _Connection:
    def __init__(self, peer, script):
        self.peer = peer
        self.page_fd, self.words = memory_file(4096, script.page_seals)
        self.streams = 0
        self.pending = {}


class ScriptedGard:
    def __init__(self, path, **script):
        self.path = path
        self.script = Script(**script)
        self.log = []
        self._lock = threading.RLock()
        self._connections = []
        self.bell_fd, self.bell = memory_file(self.script.bell_bytes)
        self.state_fd, _ = memory_file(self.script.state_bytes, SEALS | SEAL_FUTURE_WRITE)
        if os.path.exists(path):
            os.unlink(path)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(path)
        self._listener.listen()
        self._stop = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def die(self):
        """As by kill -9."""
        self._stop = True
        self._thread.join()
        with self._lock:
            for connection in self._connections:
                connection.peer.close()
            self._connections.clear()
        self._listener.close()

    # ---- What a test does.

    def send(self, message, descriptors=()):
        self.send_bytes(frames.encode(message), descriptors)

    def send_bytes(self, raw, descriptors=()):
        with self._lock:
            for connection in self._connections:
                _send(connection.peer, raw, descriptors)

    def complete(self, cookie, code=0, confirmed=0, kind=3):
        self.send(frames.Completions([frames.Completion(cookie, 0, 0, 4, 0, code, kind, confirmed,
                                                        0, "")]))

    def refuse_wait(self, cookie, code):
        self.send(frames.Refusal(cookie, code, frames.WAIT_TYPE, 0, "as scripted"))

    def received(self, kind):
        """What came, of one kind of message, or of entries."""
        with self._lock:
            found = []
            for message in self.log:
                for one in getattr(message, "entries", None) or ():
                    if isinstance(one, kind):
                        found.append(one)
                if isinstance(message, kind):
                    found.append(message)
            return found

    def word(self, stream):
        with self._lock:
            return self._connections[-1].words[stream]

    @property
    def connections(self):
        with self._lock:
            return len(self._connections)

    # ---- Serving.

    def _serve(self):
        while not self._stop:
            poll = select.poll()
            poll.register(self._listener, select.POLLIN)
            with self._lock:
                for connection in self._connections:
                    poll.register(connection.peer, select.POLLIN)
            ready = {fd for fd, _ in poll.poll(1)}
            if self._listener.fileno() in ready:
                peer, _ = self._listener.accept()
                with self._lock:
                    self._connections.append(_Connection(peer, self.script))
            if self.script.deaf is not None and not self.script.deaf.is_set():
                time.sleep(0.001)
                continue
            with self._lock:
                connections = list(self._connections)
            for connection in connections:
                if connection.peer.fileno() in ready and not self._read(connection):
                    with self._lock:
                        self._connections.remove(connection)
                        connection.peer.close()
                    continue
                with self._lock:
                    self._watch(connection)

    def _read(self, connection):
        while True:
            try:
                frame = connection.peer.recv(frames.FRAME_BYTES_MAX + 1, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return True
            except OSError:
                return False
            if not frame:
                return False
            message = frames.decode(frame)
            with self._lock:
                self.log.append(message)
            self._answer(connection, message)

    def _answer(self, connection, m):
        if isinstance(m, frames.Hello):
            self._welcome(connection)
        elif isinstance(m, frames.Open):
            self._open(connection, m)
        elif isinstance(m, frames.Close):
            self._reply(connection, frames.Closed(m.cookie))
        elif isinstance(m, frames.Cancel):
            if connection.pending.pop(m.cookie, None):
                self._end(connection, m.cookie, 0x0E)
        elif isinstance(m, frames.Waits):
            for wait in m.entries:
                self._wait(connection, wait)

    def _wait(self, connection, wait):
        if self.script.on_wait is not None and self.script.on_wait(self, wait):
            return
        if self.script.refuses_waits:
            self.refuse_wait(wait.cookie, self.script.refuses_waits)
            return
        with self._lock:
            connection.pending[wait.cookie] = wait

    def _welcome(self, connection):
        script = self.script
        if not script.answers_hello:
            return
        if script.welcome_instead is not None:
            _send(connection.peer, script.welcome_instead, ())
            return
        fds = [connection.page_fd, self.bell_fd, self.state_fd][:script.descriptors]
        welcome = frames.Welcome(script.version, 1, 0, 77, 4096, 512, 4096, 1, script.generation,
                                 "software", "naive", 0, 0)
        _send(connection.peer, frames.encode(welcome), fds)
        self._reply(connection, frames.PlanScope(script.generation, 0, 0, 1, "", script.plan))
        if script.ends:
            self._reply(connection, frames.Bye(0))

    def _open(self, connection, m):
        if self.script.opens is not None:
            self.script.opens.wait(PATIENCE_S)
        if self.script.refuses_open:
            self._reply(connection, frames.Refusal(m.cookie, self.script.refuses_open, 4, 0, "no"))
            return
        with self._lock:
            at = connection.streams
            connection.streams += 1
        self._reply(connection, frames.Opened(m.cookie, m.base + self.script.base_ahead, at + 1, 1,
                                              0, at // 8, at % 8))

    def _end(self, connection, cookie, code):
        self._reply(connection, frames.Completions(
            [frames.Completion(cookie, 0, 0, 9, 0, code, 3, 0, 0, "")]))

    def _watch(self, connection):
        if not self.script.completes:
            return
        done = [cookie for cookie, wait in connection.pending.items()
                if (connection.words[wait.stream - 1] - wait.target) % 2**64 < 2**63]
        for cookie in done:
            del connection.pending[cookie]
        for at in range(0, len(done), 46):
            self._reply(connection, frames.Completions(
                [frames.Completion(cookie, 0, 0, 9, 0, 0, 3, 0, 0, "")
                 for cookie in done[at:at + 46]]))

    @staticmethod
    def _reply(connection, message):
        _send(connection.peer, frames.encode(message), ())


def _send(peer, raw, descriptors):
    ancillary = []
    if descriptors:
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
    try:
        peer.sendmsg([raw], ancillary)
    except OSError:
        pass
