#!/usr/bin/env python3
"""Executes the word waits on CPUs that have the instructions, in emulators.

usage: run.py [GUEST...]      without names: all of them
       run.py --list

Exit status: 0 all passed, 1 something did not hold, 2 usage, 77 nothing failed but not all could
be run: each reason is printed. Never longer than nine minutes: a host too busy for all of it in
that time skips the rest. Nothing is installed: what it needs is kept in build/emulated, and all of
that may be deleted at any time.
"""

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build/emulated"
sys.path.insert(0, str(HERE))

# pylint: disable=wrong-import-position
import guests  # noqa: E402
from packages import Packages, Unavailable  # noqa: E402

SKIPPED = 77
TOTAL_S = 540
GUEST_S = 240
COMES_UP_S = 5  # on an idle host
GOOGLETEST = Path("/usr/src/googletest/CMakeLists.txt")

INTEL = 'model=corei3_cnl, add_features="waitpkg"'
AMD = "model=ryzen"
NOP = ", mwait_is_nop=1"
SLEEPING = "probe_of_any_cpu.*:probe_of_sleeping_cpu.*:bound_of_any_cpu.*:sleeping_wait.*"
SPURIOUS = "probe_of_any_cpu.*:probe_of_cpu_that_does_not_wait.*:bound_of_any_cpu.*:spurious_wait.*"
WITHOUT = "probe_of_any_cpu.*:probe_of_cpu_without.*:bound_of_cpu_without.*"


class Guest:
    """One run: which machine, what it really has, and the tests that are about such a one."""

    def __init__(self, architecture, cpu, pair, khz, tests):
        self.architecture = architecture
        self.cpu = cpu
        self.parameters = (f"GAR_GUEST_PAIR={pair} GAR_GUEST_KHZ={khz} "
                           f"-- --gtest_color=no --gtest_filter={tests}")

    def run(self, packages, folder, seconds):
        emulator = guests.bochs if self.architecture == "x86_64" else guests.qemu
        return emulator(packages, folder, BUILD / self.architecture, self.cpu, self.parameters,
                        seconds)


GUESTS = {
    "intel": Guest("x86_64", INTEL, "umwait", guests.BOCHS_KHZ, SLEEPING),
    "amd": Guest("x86_64", AMD, "mwaitx", guests.BOCHS_KHZ, SLEEPING),
    "intel-waking-at-once": Guest("x86_64", INTEL + NOP, "umwait", guests.BOCHS_KHZ, SPURIOUS),
    "amd-waking-at-once": Guest("x86_64", AMD + NOP, "mwaitx", guests.BOCHS_KHZ, SPURIOUS),
    "x86-without": Guest("x86_64", "model=corei3_cnl", "software", guests.BOCHS_KHZ, WITHOUT),
    "aarch64": Guest("aarch64", "max,pauth-impdef=on", "wfet", guests.MAX_COUNTER_KHZ, SPURIOUS),
    "aarch64-without-wfet": Guest("aarch64", "cortex-a57", "wfe", guests.OLD_COUNTER_KHZ,
                                  f"{WITHOUT}:{SPURIOUS}"),
}


class Failed(Exception):
    """What did not hold."""


def main(names):
    if names == ["--list"]:
        print("\n".join(GUESTS))
        return 0
    if any(name not in GUESTS for name in names):
        print(__doc__, file=sys.stderr)
        return 2
    names = names or list(GUESTS)
    ends_at = time.monotonic() + TOTAL_S

    def seconds_left():
        return max(1.0, ends_at - time.monotonic())

    packages = Packages(BUILD / "packages")
    try:
        packages.fetch(seconds_left)
    except Unavailable as why:
        print(f"skipped: {why}")
        return SKIPPED
    results = {architecture: try_to(build, architecture, seconds_left)
               for architecture in sorted({GUESTS[name].architecture for name in names})}

    def outcome(name):
        built = results[GUESTS[name].architecture]
        return built or try_to(boot, name, packages, seconds_left)

    # Each emulator is one busy thread.
    with ThreadPoolExecutor(max_workers=2) as two:
        outcomes = dict(zip(names, two.map(outcome, names)))
    print()
    for name, result in outcomes.items():
        print(f"{name:22}{result}")
    if any(result.startswith("FAILED") for result in outcomes.values()):
        return 1
    return 0 if all(result.startswith("passed") for result in outcomes.values()) else SKIPPED


def try_to(do, *arguments):
    """What came of it, in words: those of the exception, if it ended with one of ours."""
    try:
        return do(*arguments)
    except Unavailable as why:
        return f"skipped: {why}"
    except (Failed, subprocess.SubprocessError) as what:
        return f"FAILED: {what}"


def build(architecture, seconds_left):
    """The programs of its guests; nothing to do where they are up to date. None: they are there."""
    compiler = {"x86_64": "g++", "aarch64": "aarch64-linux-gnu-g++"}[architecture]
    if not shutil.which(compiler):
        raise Unavailable(f"no {compiler}")
    if architecture == "aarch64" and not GOOGLETEST.is_file():
        raise Unavailable(f"no {GOOGLETEST}: Debian's package googletest has it")
    folder = BUILD / architecture
    steps = [["cmake", "-G", "Ninja", "-S", str(HERE), "-B", str(folder), "--toolchain",
              str(HERE / f"{architecture}.cmake")],
             ["cmake", "--build", str(folder)]]
    for step in steps:
        try:
            done = subprocess.run(step, capture_output=True, text=True, check=False,
                                  timeout=seconds_left(), stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired as expired:
            raise Unavailable(f"its build did not end in the {TOTAL_S} s of a run; the next goes on "
                              "from there") from expired
        if done.returncode != 0:
            print(done.stdout + done.stderr)
            raise Failed(f"the programs for {architecture} do not build")


def boot(name, packages, seconds_left):
    """Runs it and shows its console."""
    folder = BUILD / "runs" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    began = time.monotonic()
    limit = min(GUEST_S, seconds_left())
    if limit < COMES_UP_S:
        raise Unavailable(f"{limit:.0f} s are left of {TOTAL_S}, too few to come up in")
    ended = GUESTS[name].run(packages, folder, limit)
    took = f"{time.monotonic() - began:.0f} s"
    print("\n".join(["", f"== {name}", *ended.lines]), flush=True)
    if ended.passed:
        return f"passed in {took}"
    print(ended.emulator_said)
    if ended.ended:
        raise Failed(f"its tests, in {took}")
    if time.monotonic() - began < limit:
        raise Failed(f"the emulator ended after {took}")
    if ended.started:
        raise Failed(f"it did not end within {limit:.0f} s")
    if limit < GUEST_S:
        raise Unavailable(f"it did not come up in the {limit:.0f} s that were left of {TOTAL_S}")
    raise Failed(f"it did not come up within {limit:.0f} s")


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main(sys.argv[1:]))
