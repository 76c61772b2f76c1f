"""What goes wrong, and what must come of it. Each case is a process of its own, since a fault ends
a context and sometimes more."""

import time

from child import CannotRun, Child, ask, end

CASE_BOUND_S = 20
PATIENCE_S = 5


def command_of(check, part, *more):
    return [check.binaries.path("device-check"), part, "--rounds-per-ms", check.rounds_per_ms,
            "--work-us", check.sizes.fault_work_us, *more]


def run_one(check, until, part, how):
    flags = check.gard.socket_flags() if how == "by gard" else ["--inline"]
    if not flags:
        raise CannotRun("gard is not running")
    saw = ask(command_of(check, part, *flags), check.binaries.environment, until)
    if saw.pop("did_not_end", False):
        saw["holds"] = False
        saw["saw"] += "; then the process did not end"
    if "ended_by_signal" in saw:
        saw["holds"] = False
        saw["saw"] += f"; then the process ended by signal {saw['ended_by_signal']}"
    return saw


def wait_until(condition, seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.002)
    return False


def pending(check):
    return check.gard.status()["waits"]["pending"]


def owner_gone(check):
    return check.gard.status()["waits"]["owner_gone"]


def neighbour_is_right(check, until):
    """Another client's waits by gard, after the one that was killed."""
    saw = ask([check.binaries.path("device-check"), "delay", "--rounds-per-ms",
               check.rounds_per_ms, "--work-us", 1000, "--repeats", 10,
               *check.gard.socket_flags()], check.binaries.environment, until)
    wrong = [way["name"] for way in saw["ways"] if way["refused"] or way["early"]]
    return "all right" if not wrong else "wrong: " + ", ".join(wrong)


def run_killed(check, until):
    waits = check.sizes.pending_waits
    before = owner_gone(check)
    with Child(command_of(check, "pending", "--repeats", waits, "--seconds", CASE_BOUND_S, "--work-us",
                          3_000_000, *check.gard.socket_flags()),
               check.binaries.environment) as client:
        client.answer(until)
        if not wait_until(lambda: pending(check) >= waits, PATIENCE_S):
            raise CannotRun(f"{pending(check)} waits of {waits} became pending at gard")
        killed_at = time.monotonic()
        end(client.process)
    gone = wait_until(lambda: pending(check) == 0 and owner_gone(check) >= before + waits,
                      PATIENCE_S)
    after_ms = round((time.monotonic() - killed_at) * 1000)
    neighbour = neighbour_is_right(check, until)
    return {"expected": "its waits are gone and counted; nobody else is touched",
            "saw": f"{owner_gone(check) - before} of {waits} waits dropped, {pending(check)} "
                   f"pending; another client afterwards: {neighbour}",
            "after_ms": after_ms, "holds": gone and neighbour == "all right"}


def case_of(part, how):
    return lambda check, until: run_one(check, until, part, how)


CASES = {
    "a kernel that faults, inline": case_of("fault-kernel", "inline"),
    "a kernel that faults, by gard": case_of("fault-kernel", "by gard"),
    "a foreign context's stream": case_of("fault-foreign", "inline"),
    "a context destroyed first, inline": case_of("fault-destroyed", "inline"),
    "a context destroyed first, by gard": case_of("fault-destroyed", "by gard"),
    "a client killed in the middle": run_killed,
}


def run_case(check, until, what):
    row = {"what": what, "ran": True}
    try:
        row.update(CASES[what](check, min(until, time.monotonic() + CASE_BOUND_S)))
    except CannotRun as why:
        row.update({"ran": False, "why": str(why)})
        # A process that dies or hangs here is what the case is about.
        if "ended by signal" in str(why) or "in time" in str(why):
            row["holds"] = False
    if row.get("holds") is False:
        check.fail(f"fault: {what}: {row.get('saw') or row.get('why')}")
    return row


def run_faults(check, entry, until):
    if check.found["card"] is None:
        raise CannotRun("there is no card")
    entry["cases"] = []
    for what in CASES:
        entry["cases"].append(run_case(check, until, what))
    missing = [row for row in entry["cases"] if not row["ran"]]
    if missing:
        raise CannotRun("; ".join(f"{row['what']}: {row['why']}" for row in missing))
