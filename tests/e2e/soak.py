"""Hours of a node's life: clients that work, come and go, are killed; plans that change; stores that
are lost. The memory, descriptors and threads of gard stay what they were.

soak.py BUILD SOURCE DURATION: as long as told ("60s", "30m", "24h"); a line each while it runs.
"""

import json
import random
import subprocess
import sys
import time

from kill import Busy, all_right, descriptors, private_kib
from node import Failure, Node, eventually, require, test

PLANS = (
    "flag:park_us=100,backstop_us=10000",
    "flag:park_us=1000,backstop_us=10000+predict:margin_us=200,min_sleep_us=50,max_sleep_us=50000,"
    "window=8",
    "poll",
    "block;rows>=32:flag:park_us=100,backstop_us=20000",
)
ROUNDS_MIN = 12
# What the allocator may keep of a busier moment.
GROWTH_KIB_MAX = 256


class Life:
    """What goes on beside the steady clients, a round at a time."""

    def __init__(self, node, chance):
        self.node = node
        self.chance = chance
        self.killed = 0
        self.left = 0

    def one_round(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.node.garctl("plan", "set", self.chance.choice(PLANS))
            client = subprocess.Popen([self.node.build / "tests/e2e_client"],
                                      env=self.node.environment, stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
            try:
                self.visit(client)
            finally:
                client.kill()
                client.wait()
                client.stdin.close()
                client.stdout.close()

    def visit(self, client):
        def ask(line):
            client.stdin.write(line + "\n")
            client.stdin.flush()
            return json.loads(client.stdout.readline())

        require(ask("connect visitor 8")["error"] == 0)
        require(ask("start 64 50 200")["error"] == 0)
        if self.chance.random() < 0.5:
            self.killed += 1
            return
        answer = ask("take 20000")
        require(answer["taken"] == 64, answer)
        self.left += 1


def measured(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        threads = next(int(line.split()[1]) for line in status if line.startswith("Threads"))
    return {"private_kib": private_kib(pid), "descriptors": descriptors(pid), "threads": threads}


def soak(node, seconds, say=lambda line: None):
    """Runs it; the samples, one a round, each taken with the steady clients alone."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    gard = node.start_gard()
    busy = Busy(node, 4, threads=2, work_us=2000)
    eventually(lambda: node.status()["clients"] == 4, 20, "the steady clients")
    life = Life(node, random.Random(seed))
    rounds = max(ROUNDS_MIN, min(600, int(seconds // 60)))
    samples = []
    for number in range(rounds):
        life.one_round(seconds / rounds)
        eventually(lambda: node.status()["clients"] == 4, 20, "the visitors are gone")
        sample = measured(gard.pid)
        samples.append(sample)
        say(f"round {number + 1} of {rounds}: {sample['private_kib']} KiB, "
            f"{sample['descriptors']} descriptors, {sample['threads']} threads, "
            f"{life.killed} visitors killed, {life.left} left by themselves, "
            f"{node.status()['waits']['completed']} waits completed")
    all_right(busy.ended())
    node.stop_gard()
    return samples


def flat(samples):
    """Nothing grows from the second quarter, when all is warm, to the last."""
    quarter = len(samples) // 4
    warm, last = samples[quarter:2 * quarter], samples[-quarter:]
    for what, allowed in (("private_kib", GROWTH_KIB_MAX), ("descriptors", 0), ("threads", 0)):
        then = max(sample[what] for sample in warm)
        # The least of the last quarter: a leak is in every sample.
        now = min(sample[what] for sample in last)
        print(f"{what}: at most {then} when warm, at least {now} at the end")
        require(now <= then + allowed, what, "grew from", then, "to", now)


@test
def soak_tells_growth_from_noise(_):
    quiet = [{"private_kib": 3000 + 40 * (n % 3), "descriptors": 20, "threads": 3}
             for n in range(ROUNDS_MIN)]
    flat(quiet)
    for what, step in (("private_kib", 120), ("descriptors", 1), ("threads", 1)):
        growing = [{**sample, what: sample[what] + n * step} for n, sample in enumerate(quiet)]
        try:
            flat(growing)
        except Failure:
            continue
        raise Failure(f"growth of {what} is not seen")


def seconds_of(text):
    units = {"s": 1, "m": 60, "h": 3600}
    if len(text) < 2 or text[-1] not in units or not text[:-1].isdigit() or int(text[:-1]) == 0:
        raise SystemExit(f"soak: expected a duration such as 60s, 30m or 24h, got '{text}'")
    return int(text[:-1]) * units[text[-1]]


def main():
    build, source, duration = sys.argv[1:]
    try:
        with Node(build, source) as node:
            flat(soak(node, seconds_of(duration), lambda line: print(line, flush=True)))
    except Failure as what:
        print(f"soak: {what}")
        return 1
    print("soak: flat")
    return 0


if __name__ == "__main__":
    sys.exit(main())
