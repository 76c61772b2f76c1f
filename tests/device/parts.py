"""The parts of the check, in the order in which they run."""

from dataclasses import dataclass
from typing import Callable

from child import CannotRun, ask
from faults import run_faults
from load import run_load
from quantiles import summary


@dataclass(frozen=True)
class Part:
    """run(check, entry, until) fills the entry, also when it then cannot go on."""

    name: str
    bound_s: Callable
    run: Callable


def note_its_end(check, part, answer):
    """A process that has answered must still end by itself."""
    if answer.get("did_not_end"):
        check.fail(f"{part}: the process did not end after its answer")
    if "ended_by_signal" in answer:
        check.fail(f"{part}: the process answered, then ended by signal "
                   f"{answer['ended_by_signal']}")


def device_check(check, until, part, *arguments, gard=True):
    command = [check.binaries.path("device-check"), part, *arguments]
    if check.rounds_per_ms:
        command += ["--rounds-per-ms", check.rounds_per_ms]
    if gard:
        command += check.gard.socket_flags()
    answer = ask(command, check.binaries.environment, until)
    note_its_end(check, part, answer)
    return answer


def need_card(check):
    if check.found["card"] is None:
        raise CannotRun("there is no card: " + check.parts["probe"].get("why", ""))


def run_probe(check, entry, until):
    saw = device_check(check, until, "probe", gard=False)
    entry.update(saw)
    check.rounds_per_ms = saw["rounds_per_ms"]
    check.found["card"] = {key: saw[key] for key in ("name", "cuda_version", "compute_capability")}
    if saw["context_flags_before"] != saw["context_flags_after"]:
        check.fail("probe: the context's flags are others than before gard used it")


def run_delay(check, entry, until):
    need_card(check)
    entry["by_work_us"] = {}
    by_gard, delegated = False, 0
    for work_us, repeats in check.sizes.delay_repeats.items():
        saw = device_check(check, until, "delay", "--work-us", work_us, "--repeats", repeats,
                           "--seconds", check.sizes.delay_work_s)
        rows = entry["by_work_us"][str(work_us)] = []
        for way in saw["ways"]:
            row = {"way": way["name"], "delay_us": summary(way.pop("delays_ns"))}
            row.update({key: way[key] for key in ("refused", "delegated", "early")})
            rows.append(row)
            if way["early"]:
                check.fail(f"delay: {way['name']} returned before the work was done")
            if way["refused"]:
                check.fail(f"delay: {way['name']}: {way['refused']}")
            by_gard = by_gard or way["name"].endswith("by gard")
            delegated += way["delegated"]
    # Of short work on a busy machine every wait may be done at its first query, but not of all.
    if check.parts["probe"]["stores"] and by_gard and delegated == 0:
        check.fail("delay: no wait was gard's to wait for")


def run_word(check, entry, until):
    saw = device_check(check, until, "word", "--work-us", check.sizes.word_work_us, "--repeats",
                       check.sizes.word_repeats, gard=False)
    for store in ("work_store", "stream_store"):
        for kind in ("watched", "blind"):
            waits = saw.get(store, {}).get(kind)
            if waits:
                waits["delay_us"] = summary(waits.pop("delays_ns"))
                waits["us_per_park"] = round(waits["waited_ns"] / 1000 / max(1, waits["parks"]), 2)
    entry.update(saw)
    if "no_card" in saw:
        raise CannotRun("the CPU was asked, but there is no card: " + saw["no_card"])


def run_demo(check, entry, until):
    need_card(check)
    command = [check.binaries.path("gar-demo"), "--device", "cuda", "--processes", 2, "--streams",
               2, "--waits", check.sizes.demo_waits, "--json"]
    if not check.gard.running():
        raise CannotRun("gard is not running")
    command += ["--socket", check.gard.gard.socket, "--control", check.gard.gard.control]
    answer = ask(command, check.binaries.environment, until)
    note_its_end(check, "demo", answer)
    entry["demo"] = answer
    for run in answer["runs"]:
        if run["failed"]:
            check.fail(f"demo: {run['failed']} waits failed under {run['plan']}")


PARTS = (
    Part("probe", lambda sizes: sizes.probe_s, run_probe),
    Part("word", lambda sizes: sizes.word_s, run_word),
    Part("delay", lambda sizes: sizes.delay_s, run_delay),
    Part("faults", lambda sizes: sizes.faults_s, run_faults),
    Part("demo", lambda sizes: sizes.demo_s, run_demo),
    Part("load", lambda sizes: sizes.load_s, run_load),
)
