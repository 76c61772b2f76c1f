"""What breaks the protocol gets a coded error, harms nobody else, and leaves nothing behind."""

import array
import json
import os
import socket
import struct
import subprocess

from node import eventually, require, test

FRAME_BYTES = 4096
ERROR = 16
WELCOME = 2
MALFORMED = 0x10
UNEXPECTED_DESCRIPTORS = 0x14


class Peer:
    """A connection to gard's socket for clients, frame by frame."""

    def __init__(self, node):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(5)
        self.socket.connect(str(node.socket))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, frame, descriptors=()):
        fds = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        try:
            self.socket.sendmsg([frame], fds if descriptors else [])
        except (BrokenPipeError, ConnectionResetError):
            pass  # gard had enough; what it said is still to be read

    def receive(self):
        """The next frame; empty at the end."""
        try:
            frame, controls, *_ = self.socket.recvmsg(1 << 17, socket.CMSG_SPACE(8 * 4))
        except ConnectionResetError:
            return b""
        for _, _, data in controls:
            for fd in array.array("i", data[:len(data) - len(data) % 4]):
                os.close(fd)
        return frame

    def hello(self, node):
        self.send((node.source / "proto/vectors/valid/hello/smallest.bin").read_bytes())
        require(self.next_type(WELCOME), "a welcome")

    def next_type(self, wanted):
        """Reads up to a frame of that type; empty where the connection ended before."""
        while True:
            frame = self.receive()
            if not frame or struct.unpack_from("<H", frame)[0] == wanted:
                return frame

    def error(self):
        """The error that gard sends next: its code, and whether it is fatal."""
        frame = self.next_type(ERROR)
        require(frame, "an error before the end of the connection")
        code, = struct.unpack_from("<H", frame, 16)
        return code, frame[20] == 1


def vectors(node):
    manifest = json.loads((node.source / "proto/vectors/manifest.json").read_text())
    for vector in manifest["vectors"]:
        if vector["error"] != 0:
            yield vector, (node.source / "proto/vectors" / vector["file"]).read_bytes()


def descriptors_of(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def refused(node, frame, vector, greeted):
    with Peer(node) as peer:
        if greeted:
            peer.hello(node)
        peer.send(frame)
        code, fatal = peer.error()
        require(code == vector["error"] and fatal == vector["fatal"], vector["file"], "greeted:",
                greeted, "got", hex(code), fatal)
        if fatal:
            require(peer.next_type(0) == b"", vector["file"], "the connection ends")


@test
def every_invalid_message_gets_its_error_and_harms_nobody(node):
    gard = node.start_gard()
    bystander = node.client("bystander", 1)
    require(bystander.ask("wait 5").get("right") is True)
    before = descriptors_of(gard.pid)
    seen = 0
    for vector, frame in vectors(node):
        for greeted in {"new": [False], "ready": [True], None: [False, True]}[vector["state"]]:
            refused(node, frame, vector, greeted)
            seen += 1
    require(seen > 500, "vectors sent:", seen)
    require(bystander.ask("wait 5").get("right") is True, "a bystander's wait")
    eventually(lambda: descriptors_of(gard.pid) <= before, 5, "gard's descriptors are back")
    status = node.status()
    require(status["clients"] == 1 and status["pid"] == gard.pid, status)
    log = (node.directory / "gard-1.log").read_text()
    require("MalformedMessage" in log, "gard's log names the fault")


@test
def descriptors_with_a_message_are_refused_and_closed(node):
    gard = node.start_gard()
    node.status()
    before = descriptors_of(gard.pid)
    hello = (node.source / "proto/vectors/valid/hello/smallest.bin").read_bytes()
    for count in (1, 4, 8):
        with Peer(node) as peer:
            peer.send(hello, [0] * count)
            code, fatal = peer.error()
            require(code == UNEXPECTED_DESCRIPTORS and fatal, count, hex(code), fatal)
    eventually(lambda: descriptors_of(gard.pid) <= before, 5, "gard's descriptors are back")


@test
def output_that_cannot_be_written_is_told(node):
    node.start_gard()
    demo = ("gar-demo", "--device", "sim", "--processes", "1", "--streams", "1", "--waits", "1",
            "--plan", "poll")
    for name, *arguments in (("garctl", "status"), ("garctl", "version", "--json"), demo):
        with open("/dev/full", "wb") as full:
            ended = subprocess.run([node.build / "bin" / name, *arguments], env=node.environment,
                                   stdout=full, stderr=subprocess.PIPE, text=True, timeout=30,
                                   check=False)
        require(ended.returncode == 1, name, arguments, "ended with", ended.returncode)
        require("standard output cannot be written" in ended.stderr, ended.stderr)


@test
def client_that_says_nothing_is_sent_away(node):
    node.start_gard()
    with Peer(node) as peer:
        code, fatal = peer.error()
        require(code == 0x29 and fatal, hex(code), fatal)
    require(node.status()["clients"] == 0)


@test
def client_that_never_reads_holds_up_nobody(node):
    node.start_gard()
    bystander = node.client("bystander", 1)
    ask = (node.source / "proto/vectors/valid/ask/status.bin").read_bytes()
    with Peer(node) as peer:
        peer.socket.setblocking(False)
        for _ in range(20000):
            try:
                peer.socket.send(ask)
            except (BlockingIOError, BrokenPipeError, ConnectionResetError):
                break
        for _ in range(3):
            require(bystander.ask("wait 5").get("right") is True, "a bystander's wait")
        require(node.status()["clients"] >= 1)
