"""Processes of the check's own, each bounded: what does not end in time is ended, and said."""

import json
import os
import select
import signal
import subprocess
import time


END_BOUND_S = 10


class CannotRun(Exception):
    """Why a part, or one measurement of it, did not run."""


def end(process):
    """A process and what it has started; it leads a session of its own. One that hangs in its
    driver cannot be ended, and is left."""
    if process.poll() is not None:
        return
    try:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(END_BOUND_S)
    except (ProcessLookupError, subprocess.TimeoutExpired):
        pass


class Child:
    """A process that answers JSON, one object a line."""

    def __init__(self, command, environment):
        try:
            self.process = subprocess.Popen(
                [str(word) for word in command], env=environment, start_new_session=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except OSError as why:
            raise CannotRun(f"{command[0]}: {why.strerror}") from why
        self.name = os.path.basename(str(command[0])) + " " + str(command[1])
        self.unread = b""

    def tell(self, line):
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except OSError as why:
            raise CannotRun(f"{self.name} is gone: {self.last_words()}") from why

    def answer(self, until):
        """The next line, before `until` (of time.monotonic)."""
        while b"\n" not in self.unread:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise CannotRun(f"{self.name} did not answer in time")
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                raise CannotRun(f"{self.name} {self.last_words()}")
            self.unread += data
        line, self.unread = self.unread.split(b"\n", 1)
        answer = json.loads(line)
        if answer.get("ran") is False:
            raise CannotRun(answer["why"])
        return answer

    def last_words(self):
        """How it ended. Its errors are short; nobody reads them before."""
        try:
            status = self.process.wait(5)
        except subprocess.TimeoutExpired:
            return "closed its output and did not end"
        said = self.process.stderr.read().decode(errors="replace").strip().splitlines()
        how = f"ended by signal {-status}" if status < 0 else f"ended with status {status}"
        return how + (f": {said[-1]}" if said else "")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end(self.process)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()


def ask(command, environment, until):
    """A process's one answer, and its own end after it."""
    with Child(command, environment) as child:
        answer = child.answer(until)
        try:
            child.process.wait(max(1.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            answer["did_not_end"] = True
        else:
            if child.process.returncode < 0:
                answer["ended_by_signal"] = -child.process.returncode
        return answer
