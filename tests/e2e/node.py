"""A private gard and its clients, for one test: started in a directory of its own, ended with it."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SKIPPED = 77


TESTS = {}


def test(function):
    """Marks a test; its name says what holds, and is its ctest entry."""
    TESTS[function.__name__] = function
    return function


class Failure(Exception):
    """What a test found wrong."""


class Skip(Exception):
    """Why a test cannot run on this host."""


def require(condition, *what):
    if not condition:
        raise Failure(" ".join(str(part) for part in what) or "a condition does not hold")


def eventually(check, seconds, what):
    """Asks until the answer is true; returns it."""
    deadline = time.monotonic() + seconds
    while True:
        answer = check()
        if answer:
            return answer
        require(time.monotonic() < deadline, what, "within", seconds, "s")
        time.sleep(0.01)


class Client:
    """One e2e_client process. `before`: a program that runs it."""

    def __init__(self, node, name, streams, before):
        self.process = subprocess.Popen([*before, node.build / "tests/e2e_client"],
                                        env=node.environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1)
        node.processes.append(self.process)
        self.connected = self.ask(f"connect {name} {streams}")
        require(self.connected.get("error") == 0, "connect:", self.connected)

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        require(line, "the client ended at:", command)
        return json.loads(line)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.process.stdin.close()
        require(self.process.wait(10) == 0, "the client's exit status")


class Node:
    """A directory with sockets, and the gard that listens there, once started."""

    def __init__(self, build, source):
        self.build = Path(build).resolve()
        self.source = Path(source).resolve()
        self.directory = Path(tempfile.mkdtemp(prefix="gar-e2e-"))
        self.socket = self.directory / "gard.sock"
        self.control = self.directory / "control.sock"
        self.environment = {**os.environ, "GARD_SOCKET": str(self.socket),
                            "GARD_CONTROL": str(self.control), "XDG_RUNTIME_DIR": ""}
        for name in ("GAR_PLAN", "NOTIFY_SOCKET", "WATCHDOG_USEC"):
            self.environment.pop(name, None)
        self.processes = []
        self.gard = None
        self.logs = 0

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait()
        if kind not in (None, Skip):
            for log in sorted(self.directory.glob("gard-*.log")):
                print(f"--- {log.name}\n{log.read_text(errors='replace')}")
        shutil.rmtree(self.directory, ignore_errors=True)

    def gard_command(self, config):
        command = [self.build / "bin/gard", "--socket", self.socket, "--control", self.control]
        if config is not None:
            path = self.directory / "gard.toml"
            path.write_text(config)
            command += ["--config", path]
        return command

    def start_gard(self, config=None, before=()):
        """Starts gard and returns when it answers. `before`: a program that runs it."""
        return self.start_gard_as(before, self.gard_command(config)[1:])

    def start_gard_as(self, before, arguments):
        """The same with the arguments as given."""
        self.logs += 1
        log = open(self.directory / f"gard-{self.logs}.log", "wb")
        self.gard = subprocess.Popen([*before, self.build / "bin/gard", *arguments], stdout=log,
                                     stderr=log, env=self.environment)
        self.processes.append(self.gard)

        def answers():
            require(self.gard.poll() is None, "gard ended with", self.gard.poll())
            return self.looked() is not None

        eventually(answers, 10, "gard answers")
        return self.gard

    def refused_gard(self, config, before=()):
        """Runs a gard that must not start; its exit status and what it said."""
        ended = subprocess.run([*before, *self.gard_command(config)], env=self.environment,
                               capture_output=True, text=True, timeout=10, check=False)
        return ended.returncode, ended.stdout + ended.stderr

    def stop_gard(self, seconds=2):
        self.gard.terminate()
        require(self.gard.wait(seconds) == 0, "gard's exit status after SIGTERM")

    def run(self, *command, timeout=60):
        return subprocess.run([str(part) for part in command], env=self.environment,
                              capture_output=True, text=True, timeout=timeout, check=False)

    def garctl(self, *arguments, check=True):
        ended = self.run(self.build / "bin/garctl", *arguments, timeout=10)
        if check:
            require(ended.returncode == 0, "garctl", *arguments, "ended with", ended.returncode,
                    ended.stderr)
        return ended

    def ask(self, *arguments):
        """A garctl command's JSON."""
        return json.loads(self.garctl(*arguments, "--json").stdout)

    def status(self):
        return self.ask("status")

    def looked(self):
        """The status without a garctl, for who looks often; None: nobody answers."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
                peer.settimeout(5)
                peer.connect(str(self.control))
                peer.sendall(b'{"op": "status"}\n')
                with peer.makefile("rb") as answers:
                    return json.loads(answers.readline())["result"]
        except (OSError, ValueError):
            return None

    def demo(self, *arguments, timeout=90):
        return self.run(self.build / "bin/gar-demo", *arguments, timeout=timeout)

    def client(self, name="e2e", streams=1, before=()):
        return Client(self, name, streams, before)

    def validate(self, schema, text):
        """Does the JSON text keep to proto/schemas/SCHEMA?"""
        path = self.directory / "answer.json"
        path.write_text(text)
        ended = self.run(sys.executable, self.source / "tests/validate_json.py",
                         self.source / "proto/schemas" / schema, path)
        if ended.returncode == SKIPPED:
            raise Skip(ended.stderr.strip())
        require(ended.returncode == 0, schema, ended.stdout, ended.stderr)
