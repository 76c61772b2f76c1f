"""The machine that a test sees from inside its box: gard as an operator runs it, and its clients."""

import json
import os
import subprocess
import time
from pathlib import Path

from node import Client, eventually, require

BUILD = Path("/box/build")
DROP_INS = Path("/etc/systemd/system/gard.service.d")
EXECUTORS = ("gpu-reactor", "io-uring", "naive")
FLAG = "flag:park_us=100,backstop_us=10000"
CONFIG = Path("/etc/gard/gard.toml")
CLIENTS_SOCKET = "/run/gard/gard.sock"
CONTROL_SOCKET = "/run/gard-control/control.sock"
SOCKET_UNITS = ("gard.socket", "gard-control.socket")


class Machine:
    def __init__(self):
        self.build = BUILD
        self.processes = []
        self.environment = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(BUILD / "lib")}

    def set_up(self):
        """What an operator does after the installation."""
        self.run("systemd-sysusers", "gard.conf")
        self.run("systemd-tmpfiles", "--create", "gard.conf")
        self.run("systemctl", "daemon-reload")
        self.configure("gpu-reactor")

    # ---- commands

    def try_run(self, *command, **how):
        return subprocess.run([str(part) for part in command], env=self.environment, text=True,
                              capture_output=True, timeout=30, check=False, **how)

    def run(self, *command, **how):
        ended = self.try_run(*command, **how)
        require(ended.returncode == 0, *command, "ended with", ended.returncode, ended.stdout,
                ended.stderr)
        return ended.stdout

    def systemctl(self, *arguments):
        return self.run("systemctl", *arguments)

    def show(self, name, unit="gard.service"):
        return self.systemctl("show", "--value", "-p", name, unit).strip()

    def pid(self):
        return int(self.show("MainPID"))

    def status_line(self):
        for line in self.try_run("systemctl", "status", "--no-pager", "gard").stdout.splitlines():
            if line.strip().startswith("Status: "):
                return line.strip()[len("Status: "):].strip('"')
        return ""

    def journal(self, *arguments):
        return self.run("journalctl", "--no-pager", "-o", "cat", "-u", "gard", *arguments)

    # ---- gard

    def configure(self, executor, more=""):
        CONFIG.parent.mkdir(parents=True, exist_ok=True)
        CONFIG.write_text(f"[executor]\nkind = '{executor}'\n[plan]\ndefault = '{FLAG}'\n{more}",
                          encoding="utf-8")

    def start(self, executor, more=""):
        """gard with this executor: True; False where the host has none, which is then said."""
        self.configure(executor, more)
        self.systemctl("restart", "gard")
        running = self.status()["executor"]
        if running["running"] == executor:
            return True
        require(executor == "io-uring", running)
        print("not run here:", running["warning"]["text"])
        return False

    def drop_in(self, name, text):
        DROP_INS.mkdir(parents=True, exist_ok=True)
        (DROP_INS / name).write_text(text, encoding="utf-8")
        self.systemctl("daemon-reload")

    def example(self, name):
        """An example drop-in as it is installed."""
        found = list(Path("/usr").glob(f"**/doc/*/systemd/examples/{name}"))
        require(len(found) == 1, name, "is installed once:", found)
        return found[0].read_text(encoding="utf-8")

    def garctl(self, *arguments, **how):
        return self.try_run(BUILD / "bin/garctl", *arguments, **how)

    def status(self):
        return json.loads(self.run(BUILD / "bin/garctl", "status", "--json"))

    # ---- clients

    def client(self, streams=1, before=()):
        return Client(self, "box", streams, before)

    def delegated_client(self, streams=1, before=()):
        client = self.client(streams, before)
        require(client.connected["mode"] == 1, "through gard:", client.connected)
        return client

    def goes_on(self, client):
        """Its next waits go through a gard again, in the end."""
        def served():
            wait = client.ask("wait 5")
            require(wait.get("right") is True, wait)
            return wait["delegated"] == 1
        eventually(served, 10, "the client's waits go through gard")

    def pending(self, count):
        eventually(lambda: self.status()["waits"]["pending"] == count, 5, f"{count} waits pend")

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()


def all_right(answer, count):
    require(answer["taken"] == count and answer["right"] == count, answer)


def seconds_since(began):
    return time.monotonic() - began
