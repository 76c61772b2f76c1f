#!/usr/bin/env python3
"""pytest on one test file, as ctest runs it. usage: run_pytest.py BUILD FILE [ARGUMENTS]

Exit status 77 with the reason where pytest is missing, or where every test was skipped.
"""

import os
import sys

SKIPPED = 77


class Skips:
    """What was run, and why something was not."""

    def __init__(self):
        self.run = 0
        self.reasons = set()

    def pytest_runtest_logreport(self, report):
        if report.skipped:
            where = report.longrepr
            self.reasons.add(str(where[2] if isinstance(where, tuple) else where))
        elif report.when == "call":
            self.run += 1


def main(build, *arguments):
    try:
        import pytest
    except ImportError:
        print("skipped: pytest is not installed (Debian: python3-pytest)")
        return SKIPPED
    os.environ["GAR_BUILD"] = build
    sys.dont_write_bytecode = True
    seen = Skips()
    status = pytest.main([*arguments, "--rootdir", os.path.dirname(os.path.abspath(__file__))],
                         plugins=[seen])
    for reason in sorted(seen.reasons):
        print(f"skipped: {reason}")
    if status == 0 and seen.run == 0:
        return SKIPPED
    return int(status)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
