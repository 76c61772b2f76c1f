"""A gard with nothing to do does nothing."""

import os
import time

from node import require, test

SECONDS = 3


def switches(pid):
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="utf-8") as status:
            for line in status:
                if line.startswith("voluntary_ctxt_switches"):
                    total += int(line.split()[1])
    return total


def cpu_ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def still(pid, what):
    time.sleep(1.5)  # what was begun ends: the deadline of a handshake among it
    before = (switches(pid), cpu_ticks(pid))
    time.sleep(SECONDS)
    after = (switches(pid), cpu_ticks(pid))
    require(after[0] == before[0], what, ": wakeups", before[0], "->", after[0])
    require(after[1] == before[1], what, ": CPU ticks", before[1], "->", after[1])


@test
def idle_gard_makes_no_wakeups(node):
    gard = node.start_gard()
    still(gard.pid, "never had a client")
    client = node.client(streams=4)
    require(client.ask("start 20 20")["error"] == 0)
    require(client.ask("take 10000")["right"] == 20)
    client.close()
    still(gard.pid, "its client has left")


@test
def open_streams_alone_cost_no_wakeups(node):
    gard = node.start_gard()
    client = node.client(streams=8)
    require(client.ask("wait 5").get("right") is True)
    still(gard.pid, "a client that waits for nothing")
