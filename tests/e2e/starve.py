"""Hosts that refuse what gard would like to have: it says so, and waits still end right."""

import json
import os
import shutil
import time
from pathlib import Path

from kill import Busy, all_right
from node import Skip, eventually, require, test

FLAG = "flag:park_us=100,backstop_us=10000"


def tool(name):
    if not shutil.which(name):
        raise Skip(f"{name} is not installed")
    return name


def waits_end_right(node, before=()):
    client = node.client(streams=2, before=before)
    for _ in range(5):
        answer = client.ask("wait 10")
        require(answer.get("right") is True, "a wait:", answer)
    client.close()
    return answer


@test
def gard_with_64_descriptors_serves_whom_it_can_and_nobody_hangs(node):
    node.start_gard(before=(tool("prlimit"), "--nofile=64:64"))
    pid = node.gard.pid
    clients = [node.client(f"c{number}", 1) for number in range(40)]
    served = sum(client.connected["mode"] for client in clients)
    for client in clients:
        require(client.ask("wait 5").get("right") is True, "a wait, with gard or without")
    status = node.status()  # garctl still gets in
    print(f"{served} of 40 clients served with 64 descriptors")
    require(0 < served < 40, "some are served, some not:", served)
    require(status["clients"] == served, status["clients"], served)
    before = cpu_ticks(pid)
    time.sleep(1)
    require(cpu_ticks(pid) - before <= 20, "CPU ticks in a second of nothing to accept:",
            cpu_ticks(pid) - before)
    for client in clients:
        client.close()
    eventually(lambda: node.status()["clients"] == 0, 10, "all are gone")
    require(node.client("late", 1).connected["mode"] == 1, "then there is room again")


def cpu_ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


@test
def no_memory_to_lock_ends_no_wait_wrongly(node):
    for kind in ("gpu-reactor", "io-uring"):
        node.start_gard(f'[executor]\nkind = "{kind}"\n',
                        before=(tool("prlimit"), "--memlock=0:0"))
        waits_end_right(node, before=("prlimit", "--memlock=0:0"))
        print(node.status()["executor"]["running"])
        node.stop_gard()


@test
def io_uring_refused_by_sysctl_falls_back(node):
    switch = Path("/proc/sys/kernel/io_uring_disabled")
    if os.environ.get("GAR_TEST_SYSCTL") != "1":
        raise Skip("kernel.io_uring_disabled is the whole machine's: GAR_TEST_SYSCTL=1 allows it")
    if not switch.exists() or not os.access(switch, os.W_OK):
        raise Skip("kernel.io_uring_disabled cannot be set here")
    was = switch.read_text(encoding="ascii")
    switch.write_text("2", encoding="ascii")
    try:
        node.start_gard('[executor]\nkind = "io-uring"\n')
        executor = node.status()["executor"]
        require(executor["running"] == "gpu-reactor", executor)
        require(executor["warning"]["code"] == 3, executor)
        waits_end_right(node)
    finally:
        switch.write_text(was, encoding="ascii")


class Quota:
    """A group of processes that may use a part of one CPU, by cgroup v2 or v1."""

    def __init__(self, percent):
        self.directory = None
        period_us = 20_000
        quota_us = period_us * percent // 100
        for top, settings in (
                ("/sys/fs/cgroup", {"cpu.max": f"{quota_us} {period_us}"}),
                ("/sys/fs/cgroup/cpu", {"cpu.cfs_period_us": period_us,
                                        "cpu.cfs_quota_us": quota_us})):
            directory = Path(top) / f"gar-test-{os.getpid()}"
            try:
                directory.mkdir()
            except OSError:
                continue
            # A folder that is none of a cpu controller has no such files.
            if all((directory / name).exists() for name in settings):
                for name, value in settings.items():
                    (directory / name).write_text(str(value), encoding="ascii")
                self.directory = directory
                return
            directory.rmdir()
        raise Skip("no CPU quota can be set here: no writable cgroup with a cpu controller")

    def add(self, pid):
        (self.directory / "cgroup.procs").write_text(str(pid), encoding="ascii")

    def throttled(self):
        for line in (self.directory / "cpu.stat").read_text(encoding="ascii").splitlines():
            if line.startswith("nr_throttled"):
                return int(line.split()[1])
        return 0

    def end(self):
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            try:
                self.directory.rmdir()
                return
            except OSError:
                time.sleep(0.02)


@test
def gard_with_a_tenth_of_a_cpu_loses_no_wait(node):
    quota = Quota(10)
    try:
        node.start_gard()
        quota.add(node.gard.pid)
        busy = Busy(node, 16, work_us=2000)
        time.sleep(3)
        counts = busy.ended()
        print(f"throttled {quota.throttled()} times")
        all_right(counts)
        require(quota.throttled() > 0, "the quota was felt")
        node.stop_gard(seconds=10)
    finally:
        if node.gard and node.gard.poll() is None:
            node.gard.kill()
            node.gard.wait()
        quota.end()


@test
def wall_clock_that_is_stepped_all_the_time_changes_nothing(node):
    library = node.build / "tests/stepped_wall_clock.so"
    node.environment["LD_PRELOAD"] = str(library)
    if not steps_seen(node):
        raise Skip("a preloaded library is ignored here")
    node.start_gard()
    node.garctl("plan", "set", FLAG)
    busy = Busy(node, 4)
    time.sleep(2)
    counts = busy.ended()
    all_right(counts)
    require(counts["delegated"] > 0, counts)
    client = node.client(streams=10)
    require(client.ask("start 20 300 100")["error"] == 0)
    answer = client.ask("take 20000")
    print(json.dumps(answer))
    require(answer["taken"] == 20, "timeouts end, too:", answer)
    client.close()
    node.stop_gard()


def steps_seen(node):
    looked = node.run("python3", "-c", "import time\nprint(len({time.time() // 1800 for _ in "
                                       "range(50)}))")
    return looked.returncode == 0 and int(looked.stdout) > 2


@test
def without_proc_gard_and_its_clients_work(node):
    before = (tool("unshare"), "--mount", "sh", "-c",
              'umount -l /proc && exec "$@"', "sh")
    tried = node.run(*before, "true")
    if tried.returncode != 0:
        raise Skip(f"/proc cannot be taken away here: {tried.stderr.strip()}")
    for kind in ("gpu-reactor", "io-uring", "naive"):
        node.start_gard(f'[executor]\nkind = "{kind}"\n', before=before)
        node.garctl("plan", "set", FLAG)
        answer = waits_end_right(node, before=before)
        require(answer["delegated"] == 1, "through gard:", answer)
        require(waits_end_right(node)["delegated"] == 1, "a client that has /proc")
        node.stop_gard()
