"""The tests, each run by run.py in a box of its own: inside.py NAME."""

import json
import os
import re
import resource
import socket
import stat
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from hung_thread import HungThread, threads  # noqa: E402
from machine import (CLIENTS_SOCKET, CONFIG, CONTROL_SOCKET, EXECUTORS, FLAG,  # noqa: E402
                     SOCKET_UNITS, Machine, all_right, seconds_since)
from node import SKIPPED, TESTS, Failure, Skip, eventually, require, test  # noqa: E402

WATCHDOG_S = 2
EXPOSURE_MAX = 1.5


@test
def start_is_ready_and_the_status_says_in_one_line_what_runs(machine):
    machine.systemctl("enable", "--now", "gard")
    for unit in ("gard.service", *SOCKET_UNITS):
        require(machine.show("ActiveState", unit) == "active", unit)
        require(machine.show("UnitFileState", unit) == "enabled", unit)
    status = machine.status()
    line = machine.status_line()
    for runs in (f"executor {status['executor']['running']}",
                 f"word wait {status['word_wait']['kind']}", f"plan {FLAG};"):
        require(runs in line, runs, "in", line)
    print(line)


@test
def plan_set_is_in_force_and_in_the_status(machine):
    machine.systemctl("start", "gard")
    client = machine.delegated_client()
    require(machine.garctl("plan", "set", "block").returncode == 0)
    require("plan block;" in machine.status_line(), machine.status_line())
    eventually(lambda: client.ask("wait 5")["kind"] == 0, 5, "a wait blocks, as the plan says")
    require(machine.garctl("plan", "unset").returncode == 0)
    require(f"plan {FLAG};" in machine.status_line(), machine.status_line())


@test
def reload_brings_the_new_configuration_and_a_bad_one_fails_and_changes_nothing(machine):
    machine.systemctl("start", "gard")
    pid = machine.pid()
    client = machine.delegated_client(10)
    require(client.ask("start 10 500")["error"] == 0)
    CONFIG.write_text("[plan]\ndefault = 'poll'\n", encoding="utf-8")
    machine.systemctl("reload", "gard")
    require("plan poll;" in machine.status_line(), machine.status_line())
    CONFIG.write_text("[plan]\ndefault = 'pole'\n", encoding="utf-8")
    refused = machine.try_run("systemctl", "reload", "gard")
    require(refused.returncode != 0, "a bad configuration is a failed reload")
    require("configuration refused" in machine.status_line(), machine.status_line())
    require(machine.status()["plan"]["running"] == "poll")
    require(machine.pid() == pid and machine.show("ActiveState") == "active", "it runs on")
    all_right(client.ask("take 10000"), 10)


@test
def restart_loses_no_pending_wait(machine):
    for executor in EXECUTORS:
        if not machine.start(executor):
            continue
        client = machine.delegated_client(20)
        require(client.ask("start 40 1500")["error"] == 0)
        machine.pending(40)
        pid = machine.pid()
        machine.systemctl("restart", "gard")
        require(machine.pid() != pid)
        all_right(client.ask("take 15000"), 40)
        machine.goes_on(client)
        print(f"{executor}: 40 waits pending over a restart, 40 ended right")


@test
def connects_during_restarts_are_served_by_the_next_gard(machine):
    machine.systemctl("start", "gard")
    for _ in range(5):
        machine.systemctl("restart", "--no-block", "gard")
        machine.delegated_client().close()
    print("5 clients came during 5 restarts, 5 were served")


@test
def crash_is_followed_by_a_new_gard_and_clients_go_on(machine):
    for executor in EXECUTORS:
        if not machine.start(executor):
            continue
        client = machine.delegated_client(20)
        require(client.ask("start 40 1500")["error"] == 0)
        machine.pending(40)
        pid = machine.pid()
        os.kill(pid, 9)
        eventually(lambda: machine.pid() not in (0, pid), 5, "another gard runs")  # noqa: B023
        all_right(client.ask("take 15000"), 40)
        machine.goes_on(client)
        print(f"{executor}: 40 waits pending over a kill, 40 ended right")


def hang(machine, thread):
    """A thread of gard hangs: how long until another gard runs, and its clients' waits ended right."""
    client = machine.delegated_client(4)
    require(client.ask("start 4 30000")["error"] == 0)
    machine.pending(4)  # so that naive has workers
    pid = machine.pid()
    found = threads(pid, thread)
    require(found, "gard has a thread", thread)
    with HungThread(found[0]) as hung:
        began = time.monotonic()
        short = machine.client(20)
        require(short.ask("start 20 300")["error"] == 0)
        all_right(short.ask("take 15000"), 20)
        eventually(hung.is_gone, 10, "the gard that hangs is ended")
        eventually(lambda: machine.pid() not in (0, pid), 10, "another gard runs")
        took = seconds_since(began)
    client.kill()
    machine.goes_on(short)
    short.close()
    # The bound, a dump of its memory, and the start of the next.
    require(took < WATCHDOG_S + 5, "another gard runs after", took, "s")
    require(f"Watchdog timeout (limit {WATCHDOG_S}s)" in machine.journal(), "the watchdog's word")
    print(f"{thread}: another gard after {took:.2f} s of {WATCHDOG_S} s and its start")


def hang_of(executor):
    def run(machine):
        machine.drop_in("quick.conf", f"[Service]\nWatchdogSec={WATCHDOG_S}s\nLimitCORE=0\n")
        if not machine.start(executor):
            raise Skip("io_uring cannot run here")
        hang(machine, "gard-waits")
    run.__name__ = f"watchdog_replaces_a_hung_{executor.replace('-', '_')}_thread"
    return run


for each in EXECUTORS:
    test(hang_of(each))


@test
def watchdog_replaces_a_hung_io_thread(machine):
    machine.drop_in("quick.conf", f"[Service]\nWatchdogSec={WATCHDOG_S}s\nLimitCORE=0\n")
    machine.start("gpu-reactor")
    hang(machine, "gard")


@test
def watchdog_leaves_alone_a_gard_that_turns(machine):
    machine.drop_in("quick.conf", "[Service]\nWatchdogSec=1s\n")
    for executor in EXECUTORS:
        if not machine.start(executor):
            continue
        pid = machine.pid()
        time.sleep(1.5)  # idle, for longer than the watchdog's time
        client = machine.delegated_client(4)
        require(client.ask("start 4 1500")["error"] == 0)
        all_right(client.ask("take 15000"), 4)  # and as long with waits pending
        require(machine.pid() == pid and machine.show("NRestarts") == "0", executor)


def processes_of(uid):
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if process.stat().st_uid == uid:
                found.append((process.name, (process / "comm").read_text(encoding="utf-8")))
        except OSError:
            pass  # it has just ended
    return found


@test
def stop_leaves_nothing_running_and_no_socket(machine):
    machine.systemctl("start", "gard")
    client = machine.delegated_client(10)
    require(client.ask("start 10 400")["error"] == 0)
    uid = os.stat(f"/proc/{machine.pid()}").st_uid
    require(uid != 0 and processes_of(uid), "gard runs as a user of its own")
    began = time.monotonic()
    machine.systemctl("stop", *SOCKET_UNITS, "gard.service")
    took = seconds_since(began)
    all_right(client.ask("take 10000"), 10)
    require(client.ask("wait 5")["in_process"] == 1, "its next wait is its own")
    require(not processes_of(uid), processes_of(uid))
    for path in (CLIENTS_SOCKET, CONTROL_SOCKET, "/sys/fs/cgroup/system.slice/gard.service"):
        require(not os.path.exists(path), path)
    require(machine.show("Result") == "success" and machine.show("ActiveState") == "inactive")
    require(took < 5, "the stop took", took, "s")
    require(machine.garctl("status").returncode == 3, "not reachable")


@test
def clients_connect_starts_gard(machine):
    machine.systemctl("start", *SOCKET_UNITS)
    require(machine.show("ActiveState") == "inactive", "gard runs only when it is asked for")
    client = machine.delegated_client()
    require(client.ask("wait 5").get("right") is True)
    require(machine.show("ActiveState") == "active")
    client.close()
    machine.systemctl("stop", "gard.service")
    require(machine.show("ActiveState") == "inactive")
    require(machine.garctl("status").returncode == 0, "and so does an operator's")
    require(machine.show("ActiveState") == "active")


def as_user(uid, *groups):
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}",
            f"--groups={','.join(groups)}" if groups else "--clear-groups", "--"]


def group_number(name):
    for line in Path("/etc/group").read_text(encoding="utf-8").splitlines():
        if line.startswith(name + ":"):
            return line.split(":")[2]
    raise Failure(f"there is no group {name}")


@test
def groups_alone_open_the_sockets(machine):
    machine.systemctl("start", "gard")
    gard, admin = group_number("gard"), group_number("gard-admin")
    for path, group in ((CLIENTS_SOCKET, gard), (CONTROL_SOCKET, admin)):
        there = os.stat(path)
        require((there.st_uid, str(there.st_gid), stat.S_IMODE(there.st_mode)) == (0, group, 0o660),
                path, there)
        folder = os.stat(os.path.dirname(path))
        require((folder.st_uid, folder.st_gid, stat.S_IMODE(folder.st_mode)) == (0, 0, 0o755),
                os.path.dirname(path), folder)
    garctl = machine.build / "bin/garctl"

    member = as_user(2001, gard)
    machine.delegated_client(before=member).close()
    require(machine.try_run(*member, garctl, "status").returncode == 0, "a member may look")
    refused = machine.try_run(*member, garctl, "plan", "set", "poll")
    require(refused.returncode != 0, "a member may change nothing")

    stranger = as_user(2002)
    require(machine.client(before=stranger).connected["mode"] == 0, "a stranger works in-process")
    require(machine.try_run(*stranger, garctl, "status").returncode != 0, "and sees nothing")
    require(machine.try_run(*stranger, garctl, "plan", "set", "poll").returncode != 0)
    require(machine.status()["plan"]["running"] == FLAG, "nothing was changed")

    operator = as_user(2003, admin)
    machine.run(*operator, garctl, "plan", "set", "poll")
    require(machine.status()["plan"]["running"] == "poll", "an operator changes plans")
    require(machine.client(before=operator).connected["mode"] == 0, "but is no client")


@test
def gard_runs_locked_down_under_each_executor(machine):
    machine.systemctl("start", "gard")
    shown = machine.run("systemd-analyze", "security", "--no-pager", "gard.service")
    exposure = float(re.search(r"exposure level for gard.service: ([0-9.]+)", shown).group(1))
    require(exposure <= EXPOSURE_MAX, "exposure", exposure, shown)
    print(f"exposure {exposure}, at most {EXPOSURE_MAX}")
    for executor in EXECUTORS:
        if not machine.start(executor):
            continue
        fields = dict(line.split(":\t", 1) for line in
                      Path(f"/proc/{machine.pid()}/status").read_text("utf-8").splitlines()
                      if ":\t" in line)
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            require(int(fields[name], 16) == 0, name, fields[name])
        require((fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2"), fields)
        require("0" not in fields["Uid"].split() + fields["Gid"].split(), fields["Uid"])
        client = machine.delegated_client(8)
        require(client.ask("start 32 50")["error"] == 0)
        all_right(client.ask("take 10000"), 32)
        client.close()
    uid = int(fields["Uid"].split()[0])
    owned = machine.run("find", "/etc", "/run", "/var", "/usr/local", "-uid", uid, "-not", "-path",
                        "/run/systemd/*")
    require(not owned, "no file is gard's own:", owned)


LATENCY = """
[latency]
scheduling = "fifo:10"
cpu = 0
cpu_dma_latency = true
"""


def may_raise_limits():
    """Docker, for one, gives its root no CAP_SYS_RESOURCE; then no manager can give LimitRTPRIO=."""
    _, hard = resource.getrlimit(resource.RLIMIT_RTPRIO)
    try:
        resource.setrlimit(resource.RLIMIT_RTPRIO, (99, 99))
        return True
    except ValueError:
        return hard >= 99


@test
def latency_needs_its_drop_in_and_no_capability(machine):
    require(machine.start("gpu-reactor", LATENCY), "gard runs without what it is refused")
    thread = machine.status()["latency"]["thread"]
    require(thread["scheduling"] == "other" and thread["warnings"], thread)

    machine.drop_in("latency.conf", machine.example("latency.conf"))
    machine.start("gpu-reactor", LATENCY)
    latency = machine.status()["latency"]
    require(latency["thread"]["cpu"] == 0, latency)
    if may_raise_limits():
        require(latency["thread"]["scheduling"] == "fifo:10", latency)
        require(not latency["thread"]["warnings"], latency)
    else:
        print("not run here: fifo scheduling, since this host lets nobody raise RLIMIT_RTPRIO")
    if os.path.exists("/dev/cpu_dma_latency"):
        require(latency["cpu_dma_latency"]["refused"] is None, latency)
    else:
        print("not run here: this host has no /dev/cpu_dma_latency")
    require(machine.show("CapabilityBoundingSet") == "", "no capability")


@test
def device_drop_in_leaves_a_gard_that_starts(machine):
    machine.drop_in("device.conf", machine.example("device.conf"))
    machine.start("gpu-reactor")
    require(machine.show("PrivateDevices") == "no")


@test
def without_its_socket_units_gard_makes_its_own_sockets(machine):
    machine.systemctl("mask", *SOCKET_UNITS)
    machine.drop_in("own-sockets.conf", machine.example("own-sockets.conf"))
    machine.start("gpu-reactor")
    for path, group in ((CLIENTS_SOCKET, "gard"), (CONTROL_SOCKET, "gard-admin")):
        there = os.stat(path)
        require(str(there.st_gid) == group_number(group), path, there)
        require(stat.S_IMODE(there.st_mode) == 0o660, path, there)
    machine.delegated_client(before=as_user(2001, group_number("gard"))).close()
    machine.systemctl("reload", "gard")
    machine.systemctl("stop", "gard")
    require(not os.path.exists(CLIENTS_SOCKET), "its folders go with it")


@test
def what_doctor_says_of_a_socket_nobody_listens_at_makes_gard_listen_again(machine):
    def remedy():
        found = json.loads(machine.garctl("doctor", "--json").stdout)
        return next(each["remedy"] for each in found if each["id"] == "sockets")
    machine.systemctl("start", "gard")
    machine.systemctl("stop", *SOCKET_UNITS, "gard")
    os.makedirs(os.path.dirname(CLIENTS_SOCKET), exist_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as left_behind:
        left_behind.bind(CLIENTS_SOCKET)
    command = remedy()
    machine.run("sh", "-c", command)
    machine.delegated_client().close()
    # And where the service is active, which refuses its socket a start.
    machine.run("sh", "-c", command)
    machine.delegated_client().close()


@test
def configuration_that_is_refused_at_the_start_ends_the_attempts(machine):
    CONFIG.write_text("[plan]\ndefault = 'pole'\n", encoding="utf-8")
    machine.systemctl("start", *SOCKET_UNITS)
    require(machine.client().connected["mode"] == 0, "the client works in-process")
    # Until the limit is reached a client that waits to be accepted starts it again and again.
    eventually(lambda: machine.show("ActiveState", "gard.socket") == "failed", 20,
               "gard is left alone")
    require(machine.show("ActiveState") == "failed", machine.show("ActiveState"))
    require(machine.show("ExecMainStatus") == "78", "configuration")
    require("gard.toml:2:12" in machine.journal(), machine.journal())


def main():
    name = sys.argv[1]
    machine = Machine()
    try:
        machine.set_up()
        TESTS[name](machine)
    except Skip as why:
        print(f"skipped: {why}")
        return SKIPPED
    except Failure as what:
        print(f"{name}: {what}")
        return 1
    finally:
        machine.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
