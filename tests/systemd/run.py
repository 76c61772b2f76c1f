"""run.py NAME BUILD SOURCE: boots a systemd in a box and runs one test of inside.py there. Exit status:
0 passed, 1 failed, 77 skipped.

run.py --list: the names of all tests, one a line.
run.py --shell BUILD SOURCE: a shell in such a box, with gard installed and not started.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from box import Box, Unavailable  # noqa: E402
from inside import TESTS  # noqa: E402

SKIPPED = 77


def main():
    if sys.argv[1:] == ["--list"]:
        print("\n".join(TESTS))
        return 0
    name, build, source = sys.argv[1:]
    try:
        with Box(build, source) as box:
            if name == "--shell":
                return box.run("bash", timeout=None, capture_output=False).returncode
            ended = box.run("/usr/bin/python3", "-B", "/box/source/tests/systemd/inside.py", name)
            print(ended.stdout + ended.stderr, end="")
            if ended.returncode == 1:
                print(f"--- the box's journal\n{box.run('journalctl', '-n', '60').stdout}")
            return ended.returncode
    except Unavailable as why:
        print(f"skipped: {why}")
        return SKIPPED


if __name__ == "__main__":
    sys.exit(main())
