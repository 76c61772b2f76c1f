"""What waiting costs: CPU time per wait and throughput, each way against the spin.

Some processes wait under one way at a time, in short slices that take turns, so that all ways see
the same moments of a machine that others use too. Ratios are of slices of the same turn, then the
median of the turns.
"""

import time
from contextlib import ExitStack

from child import CannotRun, Child
from quantiles import median

PILOT_WAITS = 3
WAITS_MAX = 4000
SLICE_BOUND_S = 30


class Slices:
    """The processes that wait, and gard's CPU time beside theirs."""

    def __init__(self, check, workers, ways):
        self.check = check
        self.workers = workers
        self.ways = ways

    def run(self, way, setting, waits, until):
        processes, streams, work_us = setting
        chosen = self.workers[:processes]
        gard_before = self.check.gard.cpu_ns()
        for worker in chosen:
            worker.tell(f"{way} {streams} {work_us} {waits}")
        until = min(until, time.monotonic() + SLICE_BOUND_S)
        answers = [worker.answer(until) for worker in chosen]
        gard_ns = self.check.gard.cpu_ns() - gard_before
        failure = next((a["failure"] for a in answers if a["failure"]), "")
        elapsed_ns = max(a["ended_ns"] for a in answers) - min(a["started_ns"] for a in answers)
        total = sum(a["waits"] for a in answers)
        return {
            "failure": failure,
            "waits": total,
            "elapsed_ns": elapsed_ns,
            "cpu_us": sum(a["cpu_ns"] for a in answers) / 1000 / total,
            "gard_cpu_us": gard_ns / 1000 / total,
            "per_s": total * 1e9 / elapsed_ns,
            "delegated": sum(a["delegated"] for a in answers),
            "early": sum(a["early"] for a in answers),
            "kinds": {k: sum(a["kinds"][k] for a in answers) for k in answers[0]["kinds"]},
        }


def rows_of(ways, turns):
    """One row per way; the first way is the spin."""
    rows = []
    for way, name in enumerate(ways):
        slices = [turn[way] for turn in turns if way in turn]
        good = [(s, turn[0]) for turn in turns if 0 in turn and way in turn
                for s in [turn[way]] if not s["failure"]]
        row = {"way": name, "waits": sum(s["waits"] for s, _ in good),
               "failure": next((s["failure"] for s in slices if s["failure"]), "")}
        if good:
            row.update({
                "cpu_us_per_wait": round(median([s["cpu_us"] + s["gard_cpu_us"]
                                                 for s, _ in good]), 2),
                "of_it_gard_us": round(median([s["gard_cpu_us"] for s, _ in good]), 2),
                "waits_per_s": round(median([s["per_s"] for s, _ in good]), 1),
                "throughput_to_spin": round(median([s["per_s"] / spin["per_s"]
                                                    for s, spin in good]), 4),
                "delegated": sum(s["delegated"] for s, _ in good),
                "early": sum(s["early"] for s, _ in good),
                "kinds": {k: sum(s["kinds"][k] for s, _ in good) for k in good[0][0]["kinds"]},
            })
        rows.append(row)
    return rows


def run_setting(slices, setting, until):
    sizes = slices.check.sizes
    pilot = slices.run(0, setting, PILOT_WAITS, until)
    per_wait_s = pilot["elapsed_ns"] / 1e9 / PILOT_WAITS
    waits = max(PILOT_WAITS, min(WAITS_MAX, int(sizes.load_slice_s / per_wait_s)))
    turns = []
    failed = set()
    for number in range(sizes.load_turns):
        turn = {}
        for i in range(len(slices.ways)):
            # Another one is first each time, so that none always follows the same.
            way = (i + number) % len(slices.ways)
            if way in failed:
                continue
            turn[way] = slices.run(way, setting, waits, until)
            if turn[way]["failure"]:
                failed.add(way)
        turns.append(turn)
    return rows_of(slices.ways, turns)


def settings_of(sizes):
    """The smallest first: they are what is there if the time runs out."""
    return [(processes, streams, work_us) for processes in sizes.load_processes
            for streams in sizes.load_streams for work_us in sizes.load_works_us]


def run_load(check, entry, until):
    if check.found["card"] is None:
        raise CannotRun("there is no card")
    entry["settings"] = []
    command = [check.binaries.path("device-check"), "load", "--rounds-per-ms",
               check.rounds_per_ms, "--streams", max(check.sizes.load_streams),
               *check.gard.socket_flags()]
    with ExitStack() as started:
        workers = [started.enter_context(Child(command, check.binaries.environment))
                   for _ in range(max(check.sizes.load_processes))]
        ways = [worker.answer(until)["ways"] for worker in workers][0]
        slices = Slices(check, workers, ways)
        for setting in settings_of(check.sizes):
            rows = run_setting(slices, setting, until)
            entry["settings"].append({"processes": setting[0], "streams": setting[1],
                                      "work_us": setting[2], "ways": rows})
            for row in rows:
                if row["failure"] or row.get("early"):
                    what = row["failure"] or "returned before the work was done"
                    check.fail(f"load: {row['way']}: {what}")
