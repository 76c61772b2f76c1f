#!/usr/bin/env python3
"""Shows that the simulator can fail: each planted bug must be found within its number of seeds.

usage: planted.py PLANTED_GAR_SIM GAR_SIM

PLANTED_GAR_SIM is built with GAR_PLANTED_BUGS, GAR_SIM is not: of the same seeds the latter must
fail none.
"""

import re
import subprocess
import sys

# Within so many seeds, from the first on, each is found. A bug without a line here is one too many.
SEEDS = {
    "no-recheck-after-arming": 1000,
    "request-without-doorbell": 1000,
    "plain-comparison": 1000,
    "backstop-never-due": 1000,
    "late-outcome-raises-prediction": 1000,
    "credit-returned-twice": 1000,
    "probe-answer-of-another-wait": 1000,
    "owner-death-unnoticed": 1000,
    "wake-flag-cleared-early": 1000,
    "slot-reused-with-store-pending": 1000,
    "plan-changed-under-wait": 1000,
    "deadline-by-wrong-clock": 1000,
    "word-is-trusted": 1000,
}
FAILED = re.compile(r"^seed (\d+) failed after [\d.]+ us: ([^:]+): (.*)$", re.M)


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)


def main():
    planted, plain = sys.argv[1:3]
    listed = [line.split("\t")[0] for line in run(planted, "--list-bugs").stdout.splitlines()]
    missed = sorted(set(listed) ^ set(SEEDS))
    print(f"{'planted bug':34}{'found in seed':>14}{'of':>6}  what was violated")
    for bug in listed:
        most = SEEDS.get(bug, 0)
        found = FAILED.search(
            run(planted, "--bug", bug, "--seeds", f"1..{most}", "--stop-at-first").stdout)
        seed, kind, text = found.groups() if found else ("-", "nothing", "")
        print(f"{bug:34}{seed:>14}{most:>6}  {kind}: {text[:80]}", flush=True)
        if not found:
            missed.append(bug)
    most = max(SEEDS.values())
    sound = run(plain, "--seeds", f"1..{most}")
    print(f"{'(none)':34}{'-' if sound.returncode == 0 else 'yes':>14}{most:>6}  "
          f"{'nothing' if sound.returncode == 0 else FAILED.search(sound.stdout).group(0)}")
    if missed or sound.returncode != 0:
        print(f"not as it must be: {', '.join(missed) or 'a build without planted bugs fails'}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
