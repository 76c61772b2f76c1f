"""What garctl doctor says of this very host, with a gard and without."""

import json
import re

from node import require, test

VERDICTS = ("good", "costs", "broken", "unknown")


def doctor(node):
    """Its findings by id. The exit status has to say whether one is broken."""
    ended = node.run(node.build / "bin/garctl", "doctor", "--json")
    node.validate("doctor.schema.json", ended.stdout)
    findings = json.loads(ended.stdout)
    broken = [each["id"] for each in findings if each["verdict"] == "broken"]
    require(ended.returncode == (1 if broken else 0), "status", ended.returncode, "with", broken)
    require(not ended.stderr, ended.stderr)
    found = {each["id"]: each for each in findings}
    require(len(found) == len(findings), "an id is there twice", findings)
    return found


def columns_of(page):
    """Of its longest line; a command's part that a shell would not let be broken may be longer."""
    return max(len(line) for line in page.splitlines() if not re.match(r" {4}( {2})?\S", line))


@test
def doctor_judges_a_node_with_a_gard(node):
    node.start_gard()
    client = node.client("doctored", 1)
    for _ in range(110):
        require(client.ask("wait 1").get("right") is True, "a wait ends right")
    found = doctor(node)
    require(found["gard"]["verdict"] == "good", found["gard"])
    require(str(node.gard.pid) in found["gard"]["what"], found["gard"])
    for name in ("executor", "plan", "lost-stores"):
        require(found[name]["verdict"] == "good", found[name])
    require(found["sockets"]["verdict"] != "broken", found["sockets"])
    require(found["late-waits"]["verdict"] != "unknown", found["late-waits"])
    require("margin_floor_ns" in [f["name"] for f in found["sleep-overshoot"]["figures"]],
            found["sleep-overshoot"])
    require("gard_cpu_of_a_wait_ns" in [f["name"] for f in found["word-wait"]["figures"]],
            found["word-wait"])


@test
def doctor_judges_a_node_without_a_gard(node):
    found = doctor(node)
    require(found["gard"]["verdict"] == "broken", found["gard"])
    require(str(node.control) in found["gard"]["what"], found["gard"])
    require("gard" in found["gard"]["remedy"], found["gard"])
    for name in ("executor", "plan", "late-waits", "lost-stores", "scheduling"):
        require(found[name]["verdict"] == "unknown", found[name])
    for name in ("cpu-sleep", "clock", "timer-slack", "governor"):
        require(found[name]["measured"] and found[name]["figures"], found[name])


@test
def doctor_says_what_was_asked_for_and_does_not_run(node):
    node.start_gard('[executor]\nkind = "io-uring"\n',
                    before=(node.build / "tests/without_io_uring",))
    found = doctor(node)
    for name in ("executor", "io-uring"):
        require(found[name]["verdict"] == "broken", found[name])
    require('kind = "gpu-reactor"' in found["executor"]["remedy"], found["executor"])
    require(str(node.directory / "gard.toml") in found["executor"]["remedy"], found["executor"])


@test
def doctor_fits_a_terminal_and_has_no_colours_in_a_pipe(node):
    node.start_gard()
    for start in (True, False):
        if not start:
            node.stop_gard()
        page = node.run(node.build / "bin/garctl", "doctor").stdout
        require(columns_of(page) <= 80, page)
        require("\x1b" not in page, page)
        headings = [line for line in page.splitlines() if line and not line.startswith(" ")]
        require(headings and set(headings) <= {"Broken", "Costs latency or CPU", "Not known", "Good"},
                headings)
        ids = re.findall(r"^  ([a-z][a-z-]*) ", page, re.M)
        require(sorted(ids) == sorted(doctor(node)), ids)
