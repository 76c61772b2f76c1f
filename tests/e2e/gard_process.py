"""A gard of a test's own: started in a directory of its own, always ended, asked over its control
socket. Nothing of it touches the machine's gard."""

import json
import os
import signal
import socket
import struct
import subprocess
import tempfile
import time

PATIENCE_S = 20
ASK, ANSWER = 18, 19  # message types


class Gard:
    """with Gard(binary, flags...) as gard: gard.ask({"op": "status"})"""

    def __init__(self, binary, *flags, config=None, environment=None, **popen):
        self.directory = tempfile.TemporaryDirectory(prefix="gard-test-")
        os.chmod(self.directory.name, 0o755)
        self.binary = binary
        self.socket = self.path("run/gard.sock")
        self.control = self.path("control/control.sock")
        self.flags = list(flags)
        self.config = self.path("gard.toml")
        self.write_config(config or "")
        self.environment = {k: v for k, v in os.environ.items() if k not in
                            ("GARD_SOCKET", "GARD_CONTROL", "NOTIFY_SOCKET", "WATCHDOG_USEC",
                             "WATCHDOG_PID", "JOURNAL_STREAM")}
        self.environment.update(environment or {})
        self.popen = popen
        self.before = []  # a command that runs the rest of its own command line
        self.named = []  # the sockets that gard is told of, where it serves others
        self.process = None

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def write_config(self, text):
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.config, 0o644)

    def command(self):
        clients, control = self.named or (self.socket, self.control)
        return [*self.before, self.binary, "--config", self.config, "--socket", clients,
                "--control", control, *self.flags]

    def start(self):
        """Starts it, and returns when it answers or has ended."""
        with open(self.path("log"), "ab") as log:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=log,
                                            env=self.environment, **self.popen)
        self.wait_until(lambda: self.process.poll() is not None or self.answers())
        return self

    def answers(self):
        try:
            return self.ask({"op": "version"})["ok"]
        except OSError:
            return False

    def wait_until(self, condition):
        end = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(f"not within {PATIENCE_S} s; the log:\n{self.log()}")
            time.sleep(0.01)

    def log(self):
        try:
            with open(self.path("log"), encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def logs(self, words):
        self.wait_until(lambda: words in self.log())

    def ask_raw(self, line):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
            peer.settimeout(PATIENCE_S)
            peer.connect(self.control)
            peer.sendall(line + b"\n")
            with peer.makefile("rb") as answers:
                return answers.readline()

    def ask(self, request):
        return json.loads(self.ask_raw(json.dumps(request).encode()))

    def ask_as_client(self, request):
        """The same over the clients' socket: an ask and the frames of its answer (PROTOCOL.md)."""
        text = json.dumps(request).encode()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
            peer.settimeout(PATIENCE_S)
            peer.connect(self.socket)
            peer.send(struct.pack("<HHIQ", ASK, len(text), 16 + len(text), 7) + text)
            answer = b""
            while True:
                frame = peer.recv(65536)
                kind, count, size, cookie, offset, total = struct.unpack_from("<HHIQII", frame)
                assert (kind, size, cookie) == (ANSWER, len(frame), 7), frame[:24]
                assert (count, offset) == (len(frame) - 24, len(answer)), frame[:24]
                answer += frame[24:]
                if len(answer) == total:
                    return json.loads(answer)

    def result(self, request):
        answer = self.ask(request)
        assert answer["ok"], answer
        return answer["result"]

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self):
        """The exit status."""
        return self.process.wait(PATIENCE_S)

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.end()
        self.directory.cleanup()


def run(binary, *arguments, environment=None, **popen):
    """gard to its end: the completed process, with text."""
    clean = {k: v for k, v in os.environ.items() if k not in ("GARD_SOCKET", "GARD_CONTROL")}
    clean.update(environment or {})
    return subprocess.run([binary, *arguments], env=clean, capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False, **popen)
