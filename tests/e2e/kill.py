"""Killing, stopping and forking at bad moments: no wait hangs, none ends falsely, nothing is left."""

import json
import os
import random
import signal
import socket
import subprocess
import time

from node import Failure, Skip, eventually, require, test

FLAG = "flag:park_us=100,backstop_us=10000"
KILLS_OF_GARD = 100
BUSY_CLIENTS = 32
KILLS_OF_CLIENTS = 1000
AT_ONCE = 20
CONNECTIONS = 2000
FROZEN_S = 5


class Busy:
    """busy_client processes, until `ended`."""

    def __init__(self, node, count, threads=1, work_us=3000, lost_every=50):
        self.processes = []
        for number in range(count):
            self.processes.append(subprocess.Popen(
                [node.build / "tests/busy_client", f"busy-{number}", str(threads), str(work_us),
                 str(lost_every)],
                env=node.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        node.processes += self.processes

    def ended(self, seconds=40):
        """Every client's counts added up; a client that does not end is a wait that hangs."""
        total = {}
        for process in self.processes:
            process.stdin.close()
        deadline = time.monotonic() + seconds
        for process in self.processes:
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired as late:
                raise Failure(f"a client still waits after {seconds} s") from late
            require(process.returncode == 0, "a busy client's exit status", process.returncode)
            counts = json.loads(process.stdout.read())
            counts["errors"] = sum(counts["errors"].values())
            for key, value in counts.items():
                total[key] = max(total.get(key, 0), value) if key == "longest_ms" else (
                    total.get(key, 0) + value)
        return total


def all_right(counts):
    print(json.dumps(counts))
    require(counts["wrong"] == 0, "waits that ended before their work:", counts)
    require(counts["errors"] == 0, "waits that failed:", counts)
    require(counts["waits"] == counts["right"], counts)
    require(counts["longest_ms"] < 10_000, "the longest wait:", counts)


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def private_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("RssAnon"):
                return int(line.split()[1])
    raise Failure("no RssAnon in /proc/PID/status")


@test
def gard_killed_100_times_under_32_busy_clients_loses_and_fakes_no_wait(node):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    node.start_gard()
    busy = Busy(node, BUSY_CLIENTS, work_us=10_000)
    served = 0
    for _ in range(KILLS_OF_GARD):
        eventually(lambda: node.looked()["waits"]["completed"] > 0, 20, "clients come back")
        time.sleep(chance.uniform(0, 0.05))
        served += 1
        node.gard.kill()
        node.gard.wait()
        node.start_gard()
    eventually(lambda: node.status()["clients"] == BUSY_CLIENTS, 20, "all clients come back")
    counts = busy.ended()
    print(f"{served} gards killed while they served")
    all_right(counts)
    require(counts["reconnects"] >= KILLS_OF_GARD, "clients reconnect:", counts)
    require(counts["delegated"] > 0, "waits went through gard:", counts)
    eventually(lambda: node.status()["clients"] == 0, 5, "all clients are gone")


@test
def clients_killed_1000_times_leave_nothing_in_gard(node):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    node.start_gard()
    node.garctl("plan", "set", FLAG)
    pid = node.gard.pid
    honest = node.client("honest", 1)
    require(honest.ask("wait 5").get("right") is True)

    def others_are_gone():
        status = node.status()
        return status["clients"] == 1 and status["streams"] == 1 and (
            status["waits"]["pending"] == 0)

    def kill_some(count):
        living = []
        for _ in range(count):
            # Not the node's own: a thousand ended processes are not kept for its end.
            one = subprocess.Popen([node.build / "tests/e2e_client"], env=node.environment,
                                   stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            one.stdin.write(b"connect doomed 4\nstart 16 2000\nwait 5000\n")
            one.stdin.flush()
            living.append((time.monotonic() + chance.uniform(0, 0.2), one))
        for at, one in sorted(living, key=lambda pair: pair[0]):
            time.sleep(max(0, at - time.monotonic()))
            one.kill()
            one.wait()
            one.stdin.close()

    # The tables and the allocator have grown to their size after the first hundred.
    for _ in range(100 // AT_ONCE):
        kill_some(AT_ONCE)
    eventually(others_are_gone, 10, "the first hundred are gone")
    time.sleep(0.5)  # connections that are being closed
    before = (descriptors(pid), private_kib(pid))
    for _ in range((KILLS_OF_CLIENTS - 100) // AT_ONCE):
        kill_some(AT_ONCE)
    eventually(others_are_gone, 10, "all are gone")
    eventually(lambda: descriptors(pid) <= before[0], 10, "their descriptors are closed")
    after = (descriptors(pid), private_kib(pid))
    waits = node.status()["waits"]
    print(f"descriptors {before[0]} -> {after[0]}, private memory {before[1]} -> {after[1]} KiB, "
          f"{waits['owner_gone']} waits of killed owners")
    require(waits["owner_gone"] > KILLS_OF_CLIENTS, "they were killed while they waited:", waits)
    # A leak of a client's ring or page, or of 64 bytes a wait, is a megabyte in 900 clients.
    require(after[1] <= before[1] + 512, "private memory in KiB", before[1], "->", after[1])
    require(honest.ask("wait 5").get("right") is True, "nobody else is touched")
    honest.close()


@test
def stopped_client_with_a_full_ring_is_bounded_and_goes_on(node):
    node.start_gard("[limits]\nring_entries = 64\n")
    node.garctl("plan", "set", FLAG)
    other = node.client("other", 1)
    client = node.client("stopped", 4)
    # More than the ring holds, each ended by its timeout: gard writes an end into every entry.
    require(client.ask("start 500 3000 400")["error"] == 0)
    eventually(lambda: node.status()["waits"]["pending"] >= 64, 5, "the ring is full")
    os.kill(client.process.pid, signal.SIGSTOP)
    eventually(lambda: node.status()["waits"]["pending"] == 0, 10, "gard ended them all")
    require(node.status()["clients"] == 2, "it is slow, not gone")
    for _ in range(20):
        require(other.ask("wait 5").get("right") is True, "nobody else is touched")
    os.kill(client.process.pid, signal.SIGCONT)
    answer = client.ask("take 20000")
    print(json.dumps(answer))
    require(answer["taken"] == 500 and answer["left"] == 0, answer)
    require(answer["right"] + sum(answer["errors"].values()) == 500, answer)
    require(set(answer["errors"]) <= {"TimedOut"}, answer)
    client.close()
    other.close()


@test
def connections_2000_at_once_and_half_of_them_reset(node):
    node.start_gard("[limits]\nclients_per_user = 2001\n")
    pid = node.gard.pid
    honest = node.client("honest", 1)
    require(honest.ask("wait 5").get("right") is True)
    before = descriptors(pid)
    limit(node.gard.pid)
    hello = (node.source / "proto/vectors/valid/hello/smallest.bin").read_bytes()
    peers = []
    for _ in range(CONNECTIONS):
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        peer.connect(str(node.socket))  # blocks while gard's queue of connections is full
        peer.settimeout(20)
        peer.send(hello)
        peers.append(peer)
    eventually(lambda: node.status()["clients"] == CONNECTIONS + 1, 30, "all are clients")
    welcomed = sum(1 for peer in peers if peer.recv(4096, socket.MSG_PEEK)[:2] == b"\x02\x00")
    require(welcomed == CONNECTIONS, "welcomes:", welcomed)
    for peer in peers[::2]:  # with its welcome unread: the peer's end is reset
        peer.close()
    eventually(lambda: node.status()["clients"] == CONNECTIONS // 2 + 1, 20, "half are gone")
    require(honest.ask("wait 5").get("right") is True, "nobody else is touched")
    for peer in peers[1::2]:
        peer.close()
    eventually(lambda: node.status()["clients"] == 1, 20, "all are gone")
    eventually(lambda: descriptors(pid) <= before, 10, "their descriptors are closed")
    print(f"{welcomed} welcomes; descriptors {before} -> {descriptors(pid)}")
    honest.close()


def limit(pid):
    """Descriptors for so many connections, here and in gard; skipped where they cannot be had."""
    import resource  # pylint: disable=import-outside-toplevel
    wanted = 5 * CONNECTIONS
    for process in (0, pid):
        soft, hard = resource.prlimit(process, resource.RLIMIT_NOFILE)
        if hard < wanted:
            raise Skip(f"RLIMIT_NOFILE is {hard} at most: {wanted} descriptors are needed")
        if soft < wanted:
            resource.prlimit(process, resource.RLIMIT_NOFILE, (wanted, hard))


@test
def gard_frozen_for_5_seconds_holds_up_no_wait(node):
    node.start_gard()
    busy = Busy(node, BUSY_CLIENTS, lost_every=0)
    eventually(lambda: node.status()["clients"] == BUSY_CLIENTS, 20, "all are clients")
    eventually(lambda: node.status()["waits"]["completed"] > BUSY_CLIENTS, 20, "gard serves them")
    os.kill(node.gard.pid, signal.SIGSTOP)
    time.sleep(FROZEN_S)
    counts = busy.ended()  # every wait ends while gard is still frozen
    with open(f"/proc/{node.gard.pid}/stat", encoding="utf-8") as stat:
        require(stat.read().rsplit(")", 1)[1].split()[0] == "T", "gard was frozen all the while")
    all_right(counts)
    require(counts["in_process"] > BUSY_CLIENTS, "they went on without gard:", counts)
    os.kill(node.gard.pid, signal.SIGCONT)
    eventually(lambda: node.status()["clients"] == 0, 10, "the clients are gone")
    client = node.client()
    require(client.ask("wait 5").get("right") is True, "a wait afterwards")


@test
def forked_child_is_refused_what_it_inherits_and_waits_by_itself(node):
    node.start_gard()
    client = node.client(streams=4)
    require(client.ask("start 20 300")["error"] == 0)
    eventually(lambda: node.status()["waits"]["pending"] == 20, 5, "20 waits are pending")
    for _ in range(10):
        answer = client.ask("fork 5")
        require(answer.get("child") == 0, "the child's exit status:", answer)
    answer = client.ask("take 10000")
    require(answer["taken"] == 20 and answer["right"] == 20, "the parent's waits:", answer)
    require(client.ask("wait 5").get("right") is True, "the parent's next wait")
    eventually(lambda: node.status()["clients"] == 1, 5, "the children are gone")
    client.close()
