"""run.py NAME BUILD SOURCE: runs one test of trust. Exit status: 0 passed, 1 failed, 77 skipped.

run.py --list: the names of all tests, one a line. run.py --all BUILD SOURCE: all of them, with a
line each. GAR_TRUST_SEED repeats what was random.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

# Importing them is what marks their tests.
import access  # noqa: E402,F401  pylint: disable=unused-import,wrong-import-position
import descriptors  # noqa: E402,F401  pylint: disable=unused-import,wrong-import-position
import limits  # noqa: E402,F401  pylint: disable=unused-import,wrong-import-position
import pages  # noqa: E402,F401  pylint: disable=unused-import,wrong-import-position
import strangers  # noqa: E402,F401  pylint: disable=unused-import,wrong-import-position
from node import SKIPPED, TESTS, Failure, Node, Skip  # noqa: E402  pylint: disable=wrong-import-position


def run(name, build, source):
    try:
        with Node(build, source) as node:
            TESTS[name](node)
    except Skip as why:
        print(f"skipped: {why}")
        return SKIPPED
    except Failure as what:
        print(f"{name}: {what}")
        return 1
    return 0


def main():
    if sys.argv[1:] == ["--list"]:
        print("\n".join(TESTS))
        return 0
    name, build, source = sys.argv[1:]
    if name != "--all":
        return run(name, build, source)
    failed = 0
    for each in TESTS:
        print(f"--- {each}", flush=True)
        began = time.monotonic()
        ended = run(each, build, source)
        failed += ended == 1
        word = {0: "passed", 1: "FAILED", SKIPPED: "skipped"}[ended]
        print(f"    {word} after {time.monotonic() - began:.1f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
