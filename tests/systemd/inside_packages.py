"""What an operator does with the packages, from install to purge; packages.py runs it in a box."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from machine import CLIENTS_SOCKET, CONFIG, CONTROL_SOCKET, SOCKET_UNITS, Machine  # noqa: E402
from node import Failure, require  # noqa: E402

PACKAGES = Path("/packages")
UNITS = ("gard.service", *SOCKET_UNITS)
PROGRAM = """
#include <gar.h>
int main(void) {
  gar_client* client = 0;
  if (gar_connect(0, &client)) return 1;
  return gar_mode(client) == 1 ? 0 : 2;
}
"""
AWAIT = """
import asyncio, garclient
async def main():
    async with garclient.connect() as gar:
        assert gar.mode == "daemon", gar.mode
asyncio.run(main())
"""


def apt(*arguments):
    # Unattended, it takes what dpkg offers as the default where it would ask.
    ended = subprocess.run(["apt-get", "-y", "-o", "Dpkg::Options::=--force-confdef", *arguments], check=False, text=True,
                           stdin=subprocess.DEVNULL, capture_output=True,
                           env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    require(ended.returncode == 0, "apt-get", *arguments, ended.stdout, ended.stderr)


def install(machine):
    apt("install", *(str(deb) for deb in PACKAGES.glob("*.deb") if deb.name != "gard_next.deb"))
    machine.systemctl("start", "gard")
    for unit in UNITS:
        require(machine.show("ActiveState", unit) == "active", unit)
        require(machine.show("UnitFileState", unit) == "enabled", unit)
    line = machine.status_line()
    for word in ("executor ", "word wait ", "plan "):
        require(word in line, word, "in", line)
    print("installed and started:", line)


def use(machine):
    demo = machine.run("gar-demo", "--device", "sim", "--processes", "2", "--streams", "2",
                       "--waits", "5")
    require("flag" in demo, demo)
    bench = machine.run("gar-bench", "--quick", "start")
    require("ready_ms" in bench, bench)
    flags = machine.run("pkg-config", "--cflags", "--libs", "garclient").split()
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "program"
        source = program.with_suffix(".c")
        source.write_text(PROGRAM, encoding="utf-8")
        machine.run("cc", "-o", str(program), str(source), *flags)
        machine.run(str(program))
    machine.run("/usr/bin/python3", "-c", AWAIT)
    print("gar-demo ran, and a C program that pkg-config compiled and a Python one went through gard")


def upgrade(machine):
    edited = CONFIG.read_text(encoding="utf-8") + "# The operator's.\n"
    CONFIG.write_text(edited, encoding="utf-8")
    pid, listening = machine.pid(), machine.show("ActiveEnterTimestampMonotonic", "gard.socket")
    apt("install", str(PACKAGES / "gard_next.deb"))
    require(CONFIG.read_text(encoding="utf-8") == edited, "the edited configuration is kept")
    require(machine.pid() not in (0, pid), "gard was restarted")
    require(machine.show("ActiveEnterTimestampMonotonic", "gard.socket") == listening,
            "its sockets stayed")
    print("upgraded: the configuration kept, gard restarted, its sockets not")


def remove(machine):
    apt("remove", "gard")
    require(CONFIG.exists(), "the configuration is kept")
    require(machine.try_run("pgrep", "-x", "gard").returncode == 1, "nothing runs")
    for path in (CLIENTS_SOCKET, CONTROL_SOCKET, "/usr/sbin/gard"):
        require(not os.path.exists(path), path)
    shown = machine.try_run("systemctl", "list-units", "--all", "--no-legend", "gard*").stdout
    require(not re.search(r"\bactive\b", shown), shown)
    apt("purge", "gard")
    require(not CONFIG.exists(), "purged")
    print("removed: nothing runs, the configuration kept until the purge")


def main():
    machine = Machine()
    machine.environment = {"PATH": os.environ["PATH"]}
    try:
        for step in (install, use, upgrade, remove):
            step(machine)
    except Failure as what:
        print(f"packages: {what}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
