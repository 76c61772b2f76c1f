#!/usr/bin/env python3
"""Writes the three series that ship for `gar-bench replay`: residuals in ns, one to a line.

usage: generate.py [DIRECTORY]     (this file's own when none is named)

Always the same numbers: the generator is seeded, and Python keeps `random.Random(seed).random()`
the same from version to version.
"""

import math
import random
import sys
from pathlib import Path

WAITS = 2000


def normal(source, mean, deviation):
    """From uniform numbers alone, which is what Python promises to keep."""
    radius = math.sqrt(-2.0 * math.log(1.0 - source.random()))
    return mean + deviation * radius * math.cos(2.0 * math.pi * source.random())


def steady(source):
    """A kernel that takes 1 ms: 10 us of noise."""
    return [normal(source, 1_000_000, 10_000) for _ in range(WAITS)]


def bimodal(source):
    """Two kinds of batch at one call site: 3 of 4 take 0.8 ms, the others 3 ms."""
    return [normal(source, 3_000_000 if source.random() < 0.25 else 800_000, 20_000)
            for _ in range(WAITS)]


def drifting(source):
    """A sequence that grows from 0.4 ms to 6 ms, and starts over four times."""
    lap = WAITS // 4
    return [normal(source, 400_000 + 5_600_000 * (i % lap) / lap, 30_000) for i in range(WAITS)]


def main():
    into = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent
    for seed, series in enumerate((steady, bimodal, drifting), 1):
        lines = [str(max(1, round(ns))) for ns in series(random.Random(seed))]
        (into / f"{series.__name__}.txt").write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
