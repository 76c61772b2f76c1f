#!/usr/bin/env python3
"""What do a thousand waits at once cost in one event loop, awaited, beside threads that block?

usage: concurrent_awaits.py GARD [--waits N] [--rounds N] [--span-ms N] [--json]
GARD is the program; one is started for the run, in a directory of its own.

A process of its own ends N waits a round, at random moments of a span, each time noting when. Ways,
in turns, round by round:
  await          `await stream.wait(n)`, N tasks; gard does the waiting
  executor       `loop.run_in_executor` on a blocking read, N threads; the producer writes to N
                 pipes. As little as any vendor's blocking wait can cost a thread
  executor_sync  `loop.run_in_executor` on `stream.wait_sync(n)`, N threads
Delay: from the producer's note to the first line after the await. CPU: of this process (all threads),
and of gard. NOT measured: a GPU, the producer, and the opening of streams. The lower bound of a delay
is one wake of a process that sleeps.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import mmap
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Awaitable, Callable, Dict, List, Set

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import garclient  # noqa: E402

WAYS = ("await", "executor", "executor_sync")
_PRODUCER = """
import mmap, os, struct, sys, time
notes = memoryview(mmap.mmap(int(sys.argv[1]), int(sys.argv[2]))).cast("B").cast("Q")
pages = {}
for line in sys.stdin:
    jobs = []
    for at, job in enumerate(line.split()):
        due, kind, fd, offset, value = job.split(":")
        fd, offset, value = int(fd), int(offset), int(value)
        if kind == "word" and fd not in pages:
            pages[fd] = memoryview(mmap.mmap(fd, os.fstat(fd).st_size)).cast("B").cast("Q")
        jobs.append((int(due), at, kind, fd, offset // 8, value))
    begun = time.monotonic_ns() + 20_000_000
    for due, at, kind, fd, index, value in sorted(jobs):
        left = begun + due - time.monotonic_ns()
        if left > 0:
            time.sleep(left / 1e9)
        notes[at] = time.monotonic_ns()
        if kind == "word":
            pages[fd][index] = value
        else:
            os.write(fd, struct.pack("Q", 1))
    print("ended", flush=True)
"""


class Producer:
    def __init__(self, waits: int, inherited: List[int]) -> None:
        size = (waits * 8 + 4095) // 4096 * 4096
        fd = os.memfd_create("notes")
        os.ftruncate(fd, size)
        self.notes = memoryview(mmap.mmap(fd, size)).cast("B").cast("Q")
        self._process = subprocess.Popen([sys.executable, "-c", _PRODUCER, str(fd), str(size)],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                         pass_fds=[fd, *inherited])

    def start(self, jobs: List[str]) -> None:
        assert self._process.stdin
        self._process.stdin.write(" ".join(jobs) + "\n")
        self._process.stdin.flush()

    def ended(self) -> None:
        assert self._process.stdout and self._process.stdout.readline() == "ended\n"

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


class Bench:
    def __init__(self, gar: garclient.Client, arguments: argparse.Namespace) -> None:
        self._gar = gar
        self._waits = arguments.waits
        self._span_ns = arguments.span_ms * 1_000_000
        self._streams = [gar.word_stream() for _ in range(self._waits)]
        self._pipes = [os.pipe() for _ in range(self._waits)]
        pages = {stream.word.page.fd for stream in self._streams}
        self._producer = Producer(self._waits, [*pages, *(write for _, write in self._pipes)])
        self._pool = ThreadPoolExecutor(self._waits)
        self._random = random.Random(arguments.seed)
        self.delays: Dict[str, List[int]] = {way: [] for way in WAYS}
        self.cpu_ns: Dict[str, int] = {way: 0 for way in WAYS}
        self.gard_ms: Dict[str, int] = {way: 0 for way in WAYS}
        self.threads: Dict[str, Set[int]] = {way: set() for way in WAYS}

    def forget(self) -> None:
        """What was measured until now."""
        for way in WAYS:
            self.delays[way] = []
            self.cpu_ns[way] = self.gard_ms[way] = 0

    async def round(self, way: str) -> None:
        dues = [self._random.randrange(self._span_ns) for _ in range(self._waits)]
        ended = [0] * self._waits
        numbers = [stream.record() for stream in self._streams]
        waiters = [asyncio.ensure_future(self._one(way, at, number, ended))
                   for at, number in enumerate(numbers)]
        await asyncio.sleep(0.05)  # all of them wait
        gard_before_ms = self._gard_cpu_ms()
        cpu_before_ns = time.process_time_ns()
        self._producer.start([self._job(way, at, due, number)
                              for at, (due, number) in enumerate(zip(dues, numbers))])
        await asyncio.gather(*waiters)
        self.cpu_ns[way] += time.process_time_ns() - cpu_before_ns
        self.gard_ms[way] += self._gard_cpu_ms() - gard_before_ms
        self._producer.ended()
        self.delays[way] += [end - note for end, note in zip(ended, self._producer.notes)]
        if way == "executor":
            for stream, number in zip(self._streams, numbers):
                stream.signal(number)

    def _job(self, way: str, at: int, due: int, number: int) -> str:
        if way == "executor":
            return f"{due}:pipe:{self._pipes[at][1]}:0:0"
        word = self._streams[at].word
        return f"{due}:word:{word.page.fd}:{word.offset_bytes}:{number}"

    async def _one(self, way: str, at: int, number: int, ended: List[int]) -> None:
        loop = asyncio.get_running_loop()
        waits: Dict[str, Callable[[], Awaitable[Any]]] = {
            "await": lambda: self._streams[at].wait(number),
            "executor": lambda: loop.run_in_executor(
                self._pool, self._blocking, way, os.read, self._pipes[at][0], 8),
            "executor_sync": lambda: loop.run_in_executor(
                self._pool, self._blocking, way, self._streams[at].wait_sync, number)}
        self.threads[way].add(threading.get_ident())
        await waits[way]()
        ended[at] = time.monotonic_ns()

    def _blocking(self, way: str, wait: Callable[..., Any], *arguments: Any) -> None:
        self.threads[way].add(threading.get_ident())
        wait(*arguments)

    def _gard_cpu_ms(self) -> int:
        return int(self._gar.status()["process"]["cpu_ms"])

    def close(self) -> None:
        self._producer.close()
        self._pool.shutdown()


def quantile(values: List[int], part: float) -> int:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def summary(bench: Bench, way: str) -> Dict[str, Any]:
    count = len(bench.delays[way])
    of = {name: round(quantile(bench.delays[way], part) / 1000)
          for name, part in (("p50_us", 0.5), ("p99_us", 0.99), ("p99_9_us", 0.999))}
    return {"way": way, "waits": count, "threads": len(bench.threads[way]),
            "cpu_us_per_wait": round(bench.cpu_ns[way] / count / 1000, 1),
            "gard_cpu_us_per_wait": round(bench.gard_ms[way] * 1000 / count, 1),
            **{f"delay_{name}": value for name, value in of.items()}}


async def measure(socket_path: str, arguments: argparse.Namespace) -> List[Dict[str, Any]]:
    async with garclient.connect(socket_path, need_daemon=True) as gar:
        bench = Bench(gar, arguments)
        try:
            for way in WAYS:
                await bench.round(way)  # cold, not counted
            bench.forget()
            for turn in range(arguments.rounds):
                for step in range(len(WAYS)):
                    await bench.round(WAYS[(turn + step) % len(WAYS)])
            return [summary(bench, way) for way in WAYS]
        finally:
            bench.close()


def show(rows: List[Dict[str, Any]]) -> None:
    base = rows[0]
    print(f"{'way':14} {'threads':>8} {'CPU us':>8} {'gard us':>8} {'p50 us':>8} {'p99 us':>8} "
          f"{'p99.9 us':>9}  CPU, p50, p99 over await")
    for row in rows:
        own = row["cpu_us_per_wait"] + row["gard_cpu_us_per_wait"]
        ratios = (own / (base["cpu_us_per_wait"] + base["gard_cpu_us_per_wait"]),
                  row["delay_p50_us"] / base["delay_p50_us"],
                  row["delay_p99_us"] / base["delay_p99_us"])
        print(f"{row['way']:14} {row['threads']:8} {row['cpu_us_per_wait']:8} "
              f"{row['gard_cpu_us_per_wait']:8} {row['delay_p50_us']:8} {row['delay_p99_us']:8} "
              f"{row['delay_p99_9_us']:9}  " + ", ".join(f"{ratio:.2f}" for ratio in ratios))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("gard")
    parser.add_argument("--waits", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--span-ms", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gard-bench-") as directory:
        socket_path = f"{directory}/gard.sock"
        with open(f"{directory}/log", "wb") as log, subprocess.Popen(
                [arguments.gard, "--socket", socket_path, "--control", f"{directory}/control.sock"],
                stderr=log) as gard:
            try:
                while not os.path.exists(socket_path) and gard.poll() is None:
                    time.sleep(0.01)
                rows = asyncio.run(measure(socket_path, arguments))
            finally:
                gard.terminate()
    if arguments.json:
        print(json.dumps(rows))
    else:
        print(f"seed {arguments.seed}, {arguments.waits} waits at once, {arguments.rounds} rounds, "
              f"ends spread over {arguments.span_ms} ms")
        show(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
