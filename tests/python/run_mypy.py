#!/usr/bin/env python3
"""mypy --strict on the package and its examples. usage: run_mypy.py SOURCE

Exit status 77 with the reason where mypy is missing.
"""

import os
import sys
from pathlib import Path

SKIPPED = 77


def main(source):
    try:
        from mypy import api
    except ImportError:
        print("skipped: mypy is not installed (Debian: mypy)")
        return SKIPPED
    package = Path(source) / "clients/python"
    checked = [package / "garclient", *sorted((package / "examples").glob("*.py")),
               *sorted((package / "bench").glob("*.py"))]
    # The oldest version that it promises, and the newest that this mypy knows.
    worst = 0
    for version in ("3.9", "3.11"):
        os.environ["MYPYPATH"] = str(package)
        out, err, status = api.run(["--strict", "--python-version", version, "--cache-dir",
                                    os.devnull, *map(str, checked)])
        print(f"Python {version}: {out}{err}", end="")
        worst = max(worst, status)
    return worst


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
