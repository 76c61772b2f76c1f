#!/usr/bin/env python3
"""Runs the fuzzing targets, two at a time, and says for each what it did and what it found.

    tests/fuzz/run.py [--for 60s] [--build FOLDER] [TARGET...]
    tests/fuzz/run.py --keep [TARGET...]     adds to the corpus what earlier runs found, minimized

Each target starts from its corpus here and from what earlier runs found (FOLDER/corpus/TARGET).
A run of all targets gives `--for` to each large one; the small ones, in SMALL, share two such
times. The canary ends as soon as it is found out, and must be. Exit status: 0 when nothing was
found but the canary, else 1.
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SMALL = {"quantity", "series", "utf8", "sequence", "points", "doorbell", "estimator", "owner_wait",
         "published"}
CANARY = "canary"
CANARY_SECONDS = 60
AT_ONE_TIME = 2
INPUT_SECONDS_MAX = 60  # wall-clock: on a machine that is busy with other things too
FRAME_BYTES_MAX = 4200  # a frame, and a little more
TEXT_BYTES_MAX = 2000
SMALL_BYTES_MAX = 500


def seconds_of(text):
    match = re.fullmatch(r"(\d+)(s|m|h)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"'{text}' is no time such as 60s, 5m or 1h")
    return int(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]


def targets():
    return sorted(path.name for path in (HERE / "corpus").iterdir() if path.is_dir())


def count_files(folder):
    return sum(1 for path in folder.iterdir() if path.is_file())


class Run:
    """One target's run: its command, its folders, its figures."""

    def __init__(self, name, seconds, build):
        self.name = name
        self.seconds = seconds
        self.program = build / "fuzz" / f"fuzz_{name}"
        self.seeds = HERE / "corpus" / name
        self.found = build / "corpus" / name
        self.log = build / "logs" / f"{name}.log"
        self.crashes = build / "crashes" / name

    def bytes_max(self):
        if self.name in ("frame", "client_link"):
            return FRAME_BYTES_MAX
        return SMALL_BYTES_MAX if self.name in SMALL else TEXT_BYTES_MAX

    def command(self):
        dictionary = HERE / "dictionaries" / f"{self.name}.dict"
        command = [
            str(self.program), f"-max_total_time={self.seconds}", "-print_final_stats=1",
            f"-timeout={INPUT_SECONDS_MAX}", f"-max_len={self.bytes_max()}",
            f"-artifact_prefix={self.crashes}/",
        ]
        if dictionary.exists():
            command.append(f"-dict={dictionary}")
        # The canary is found anew each time.
        if self.name == CANARY:
            return command
        return command + [str(self.found), str(self.seeds)]

    def go(self):
        shutil.rmtree(self.crashes, ignore_errors=True)
        for folder in (self.found, self.crashes, self.log.parent):
            folder.mkdir(parents=True, exist_ok=True)
        before = count_files(self.found)
        start = time.monotonic()
        with self.log.open("w") as log:
            status = subprocess.run(self.command(), stdout=log, stderr=log, check=False,
                                    timeout=self.seconds + 120,
                                    env={**os.environ, "ASAN_OPTIONS": "detect_leaks=1"}).returncode
        self.took = time.monotonic() - start
        self.new_units = count_files(self.found) - before
        self.ok = (status != 0) == (self.name == CANARY)
        if not self.ok and status == 0:
            self.verdict = "was NOT found out: the fuzzer is blind"
        elif self.name == CANARY:
            self.verdict = "found out, as it must be"
        else:
            self.verdict = "ok" if self.ok else "FOUND"
        return self

    def figure(self, pattern):
        found = re.findall(pattern, self.log.read_text(errors="replace"))
        return int(found[-1]) if found else 0

    def line(self):
        executions = max(self.figure(r"number_of_executed_units: (\d+)"),
                         self.figure(r"(?m)^#(\d+)\t"))
        corpus = count_files(self.seeds)
        return (f"{self.name:12} {executions:12,} {executions / max(self.took, 0.1):10,.0f} "
                f"{corpus:7} {self.new_units:6} {self.took:6.0f} s  {self.verdict}")

    def finding(self):
        inputs = sorted(self.crashes.iterdir()) or ["(no input was kept)"]
        tail = [line for line in self.log.read_text(errors="replace").splitlines()
                if "broken:" in line or "ERROR:" in line or "assertion" in line.lower()
                or "runtime error" in line or "SUMMARY" in line][:6]
        lines = [f"  {line}" for line in tail]
        lines += [f"  log: {self.log}"]
        lines += [f"  replay: {self.program} {path}" for path in inputs]
        return "\n".join(lines)


def keep(names, build):
    for name in names:
        run = Run(name, 0, build)
        if name == CANARY or not run.found.is_dir():
            continue
        before = count_files(run.seeds)
        # The fewest that reach every edge; how often each is passed does not count.
        subprocess.run([str(run.program), "-set_cover_merge=1", "-use_counters=0",
                        f"-max_len={run.bytes_max()}",
                        str(run.seeds), str(run.found)], check=True, capture_output=True)
        print(f"{name:12} {count_files(run.seeds) - before} files added", flush=True)


def plan(names, seconds, build):
    shared = names == targets()
    small = max(5, 2 * seconds // len(SMALL))
    runs = []
    for name in names:
        if name == CANARY:
            runs.append(Run(name, CANARY_SECONDS, build))
        else:
            runs.append(Run(name, small if shared and name in SMALL else seconds, build))
    return sorted(runs, key=lambda run: -run.seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--for", dest="seconds", type=seconds_of, default=60)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    options = parser.parse_args()
    unknown = set(options.targets) - set(targets())
    if unknown:
        parser.error(f"no such target: {', '.join(sorted(unknown))}; one of {', '.join(targets())}")
    names, build = options.targets or targets(), options.build.resolve()
    if options.keep:
        keep(names, build)
        return 0
    runs = plan(names, options.seconds, build)
    print(f"{'target':12} {'executions':>12} {'per second':>10} {'corpus':>7} {'new':>6} {'time':>8}",
          flush=True)
    start = time.monotonic()
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(AT_ONE_TIME) as pool:
        for done in concurrent.futures.as_completed([pool.submit(run.go) for run in runs]):
            run = done.result()
            print(run.line(), flush=True)
            if not run.ok:
                print(run.finding(), flush=True)
            bad += not run.ok
    print(f"{len(runs)} targets in {time.monotonic() - start:.0f} s, {bad} with findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
