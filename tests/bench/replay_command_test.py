#!/usr/bin/env python3
"""gar-bench replay as a program: what it prints, and how it ends where it cannot."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

BENCH, SERIES = sys.argv[1], Path(sys.argv[2])
KEYS = ["waits", "exact", "late", "slept_ns", "cpu_ns", "delay_ns"]
SHIPPED = ("flag:park_us=100,backstop_us=10000+predict:margin_us=200,min_sleep_us=50,"
           "max_sleep_us=50000,window=8")


def replay(*arguments):
    return subprocess.run([BENCH, "replay", *map(str, arguments)], capture_output=True, text=True,
                          check=False, timeout=30)


def sums(name, plan):
    done = replay(SERIES / f"{name}.txt", "--plan", plan, "--json")
    assert done.returncode == 0, done
    answer = json.loads(done.stdout)
    assert list(answer) == KEYS, answer
    return answer


def check_shipped_series():
    for name in ("steady", "bimodal", "drifting"):
        polled, predicted = sums(name, "poll"), sums(name, SHIPPED)
        assert polled["waits"] == polled["exact"] == 2000 and polled["late"] == 0, polled
        assert predicted["waits"] == predicted["exact"] + predicted["late"] == 2000, predicted
        assert predicted["cpu_ns"] < polled["cpu_ns"], (name, predicted, polled)
    text = replay(SERIES / "steady.txt", "--plan", "poll").stdout
    assert [line.split()[0] for line in text.splitlines()] == KEYS, text


def check_that_the_series_are_the_generators():
    with tempfile.TemporaryDirectory() as into:
        subprocess.run([sys.executable, "-B", SERIES / "generate.py", into], check=True)
        for made in Path(into).iterdir():
            assert made.read_text() == (SERIES / made.name).read_text(), made.name


def check_refusals():
    with tempfile.TemporaryDirectory() as into:
        bad, empty = Path(into) / "bad", Path(into) / "empty"
        bad.write_text("1\nsoon\n")
        empty.write_text("")
        steady = SERIES / "steady.txt"
        for arguments, name in (((Path(into) / "none", "--plan", "poll"), "SystemCall"),
                                ((into, "--plan", "poll"), "SystemCall"),
                                ((bad, "--plan", "poll"), "InvalidArgument"),
                                ((empty, "--plan", "poll"), "InvalidArgument"),
                                ((steady, "--plan", "pol"), "InvalidPlan")):
            done = replay(*arguments)
            assert done.returncode == 1 and name in done.stderr and not done.stdout, done
        for arguments in ((), (steady,), (steady, "--plan", "poll", "--loudly")):
            assert replay(*arguments).returncode == 2, arguments


check_shipped_series()
check_that_the_series_are_the_generators()
check_refusals()
