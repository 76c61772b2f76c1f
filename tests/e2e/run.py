"""run.py NAME BUILD SOURCE: runs one end-to-end test. Exit status: 0 passed, 1 failed, 77 skipped.

run.py --list: the names of all tests, one a line.
"""

import sys

# Importing them is what marks their tests.
import advice  # noqa: F401  pylint: disable=unused-import
import bad_input  # noqa: F401  pylint: disable=unused-import
import containers  # noqa: F401  pylint: disable=unused-import
import demo  # noqa: F401  pylint: disable=unused-import
import executors  # noqa: F401  pylint: disable=unused-import
import kill  # noqa: F401  pylint: disable=unused-import
import loss  # noqa: F401  pylint: disable=unused-import
import manifests  # noqa: F401  pylint: disable=unused-import
import metrics  # noqa: F401  pylint: disable=unused-import
import plans  # noqa: F401  pylint: disable=unused-import
import quiet  # noqa: F401  pylint: disable=unused-import
import showing  # noqa: F401  pylint: disable=unused-import
import soak  # noqa: F401  pylint: disable=unused-import
import starve  # noqa: F401  pylint: disable=unused-import
import watching  # noqa: F401  pylint: disable=unused-import
from node import SKIPPED, TESTS, Failure, Node, Skip


def main():
    if sys.argv[1:] == ["--list"]:
        print("\n".join(TESTS))
        return 0
    name, build, source = sys.argv[1:]
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


if __name__ == "__main__":
    sys.exit(main())
