"""Every example of the manual is compiled and run, as its reader would: calls in-process and through
a gard, commands beside a gard of the test's own, a configuration by gard.
usage: examples_test.py BUILD_DIRECTORY"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from c_program import Compiler, Missing, need_compiler, run
from page import SKIPPED, SOURCE, calls, page, quiet_environment, run_checks

sys.path.insert(0, str(SOURCE / "tests/e2e"))
from gard_process import Gard  # noqa: E402

# What a command line of an example needs: a gard of its own starts another way in gard.8.
OF_COMMANDS = ("garctl.1", "gar-demo.1", "gar-bench.1", "gard.8")


def tell_skip(what, why):
    print(f"skipped: {what}: {why}")


def example_of(each):
    shown = each.displays("EXAMPLES")
    return shown[0] if len(shown) == 1 else None


def main(build):
    build = Path(build).resolve()
    gard = build / "bin/gard"

    def calls_work_as_their_pages_show():
        need_compiler()
        with tempfile.TemporaryDirectory(prefix="gar-example-") as place, Gard(gard) as node:
            for each in calls():
                text = example_of(each)
                program = Path(place) / each.path.stem
                if text is None or "int main" not in text:
                    yield f"{each.name}: has no example, or several"
                    continue
                compiler = Compiler(build)
                try:
                    compiler.compile(text, program)
                except Missing as why:
                    tell_skip(each.name, why)
                    continue
                except subprocess.CalledProcessError as failed:
                    yield f"{each.name}: {failed.stderr}"
                    continue
                if not any(f"{name}(" in text for name in each.names()):
                    yield f"{each.name}: its example calls none of {each.names()}"
                for how, environment in (
                        ("in-process", compiler.environment()),
                        ("through gard", compiler.environment(GARD_SOCKET=node.socket))):
                    ended = run(program, environment)
                    if ended.returncode == SKIPPED:
                        tell_skip(f"{each.name} {how}", ended.stderr.strip() or "no such device")
                    elif ended.returncode != 0:
                        yield (f"{each.name}: {how}: status {ended.returncode}: "
                               f"{ended.stdout}{ended.stderr}")

    def commands_work_as_their_pages_show():
        for name in OF_COMMANDS:
            for text in page(name).displays("EXAMPLES"):
                with tempfile.TemporaryDirectory(prefix="gar-example-") as place, Gard(gard) as node:
                    environment = quiet_environment(
                        GARD_SOCKET=node.socket, GARD_CONTROL=node.control, TMPDIR=place,
                        PATH=f"{build}/bin:{os.environ['PATH']}")
                    ended = subprocess.run(["bash", "-eu", "-c", text], check=False,
                                           capture_output=True, text=True, timeout=200,
                                           cwd=place, env=environment)
                    if ended.returncode != 0:
                        yield f"{name}: status {ended.returncode}: {ended.stdout}{ended.stderr}"

    def a_configuration_is_read_as_its_page_shows():
        for text in page("gard.toml.5").displays("EXAMPLES"):
            with tempfile.TemporaryDirectory(prefix="gar-example-") as place:
                file = Path(place) / "gard.toml"
                file.write_text(text, encoding="utf-8")
                ended = subprocess.run([gard, "--check-config", "--config", file], check=False,
                                       capture_output=True, text=True, timeout=60,
                                       env=quiet_environment())
                if ended.returncode != 0:
                    yield f"gard.toml.5: {ended.stderr}"

    return run_checks(calls_work_as_their_pages_show, commands_work_as_their_pages_show,
                      a_configuration_is_read_as_its_page_shows)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
