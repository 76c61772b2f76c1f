"""The tables that a person reads."""

from node_gard import PLANS


def table(rows):
    """Text in columns; the first is of words, the others of numbers."""
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [str(row[0]).ljust(widths[0])]
        cells += [str(cell).rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  " + "  ".join(cells).rstrip())


def us(value):
    return "-" if value is None else f"{value:.1f}"


def delay(value):
    """A delay below zero is none: whoever dates the end of the work came late."""
    return "?" if value < 0 else us(value)


def say_undated(summaries):
    undated = sum(one["undated"] for one in summaries)
    if undated:
        waits = sum(one["samples"] for one in summaries)
        print(f"  {undated} of {waits} waits returned before the observer was running")
    if undated * 100 > sum(one["samples"] for one in summaries):
        print("  too few CPUs are free for these delays to mean anything (a '?' was below zero)")


def plan_name(text):
    return next((name for name, known in PLANS.items() if known == text), text)


def work(us_count):
    return f"{int(us_count) / 1000:g} ms"


def print_head(found):
    host = found["host"]
    card = found["card"]
    kind = "the fake driver" if found["fake"] else card["name"] if card else "no card"
    print(f"gard device check: {kind}")
    if "no_card" in found:
        print(f"  {found['no_card']}")
    if found["fake"]:
        print("  a rehearsal: the times below say nothing about any card")
    if card:
        version = card["cuda_version"]
        print(f"  CUDA {version // 1000}.{version % 1000 // 10}, compute capability "
              f"{card['compute_capability']}, kernel module {host['driver'] or 'unknown'}, "
              f"EnableStreamMemOPs {host['enable_stream_mem_ops'] or 'unknown'}")
    print(f"  {host['cpu']}, {host['cpus']} CPUs, governor {host['governor'] or 'unknown'}, Linux "
          f"{host['kernel']}, commit {found['commit']}")
    gard = found["gard"]
    if gard["ran"]:
        print(f"  gard {gard['version']}, executor {gard['executor']['running']}, word wait "
              f"{gard['word_wait']['kind']}")
    else:
        print(f"  gard did not run: {gard['why']}")
    if card:
        print("  plans: " + "\n         ".join(f"{name} = {text}" for name, text in PLANS.items()
                                               if name != text))


def print_probe(part):
    stores = "arrive" if part["stores"] else f"do not work: {part['stores_why']}"
    claims = "yes" if part["says_it_can_store"] else "no"
    flags = ("untouched" if part["context_flags_before"] == part["context_flags_after"]
             else "CHANGED")
    print(f"  stores {stores}; the attribute says {claims}; batches "
          f"{'yes' if part['batches'] else 'no'}; the context's flags {flags}")
    print(f"  work: {part['work']}, {part['rounds_per_ms']} rounds per ms")


def print_word(part):
    print(f"  {part['kind']}, {'hardware' if part['hardware'] else 'no hardware'}: {part['says']}")
    rows = [["the store is by", "delay p50 us", "p99 us", "parks", "us per park"]]
    seen = []
    for store, name in (("work_store", "the kernel"), ("stream_store", "the stream")):
        if "refused" in part.get(store, {}):
            print(f"  {name}: {part[store]['refused']}")
        for kind in ("watched", "blind"):
            waits = part.get(store, {}).get(kind)
            if waits and waits["delay_us"]:
                seen.append(waits["delay_us"])
                rows.append([f"{name}, {kind}", delay(seen[-1]["p50"]), delay(seen[-1]["p99"]),
                             waits["parks"], f"{waits['us_per_park']:.1f}"])
    if not seen:
        return
    table(rows)
    say_undated(seen)
    if part["hardware"]:
        print("  watched: on the line that is stored to; blind: on another, looking at the same word")
    else:
        print("  no hardware wait: nothing to wake, the word is looked at")


def print_delay(part):
    works = [w for w, rows in part["by_work_us"].items() if rows]
    if not works:
        return
    rows = [["way"] + [cell for w in works for cell in (f"{work(w)} p50", "p99")]]
    names = [row["way"] for row in part["by_work_us"][works[0]]]
    for i, name in enumerate(names):
        row = [name]
        for w in works:
            seen = part["by_work_us"][w][i]["delay_us"]
            row += [delay(seen["p50"]), delay(seen["p99"])] if seen else ["-", "-"]
        rows.append(row)
    table(rows)
    for name in sorted({row["way"] for w in works for row in part["by_work_us"][w]
                        if row["way"].endswith("by gard") and not row["delegated"]}):
        print(f"  {name}: of some length all work was done before gard could wait for it")
    say_undated([row["delay_us"] for w in works for row in part["by_work_us"][w]
                 if row["delay_us"]])


def print_load(part):
    print("  CPU us per wait, that of gard and of the driver's threads included; throughput to the "
          "spin's")
    groups = {}
    for setting in part["settings"]:
        groups.setdefault((setting["processes"], setting["streams"]), []).append(setting)
    for (processes, streams), settings in groups.items():
        rows = [[f"{processes} process{'es' * (processes > 1)} x {streams} "
                 f"stream{'s' * (streams > 1)}"] +
                [cell for s in settings for cell in (f"{work(s['work_us'])} CPU", "ratio")]]
        for i, first in enumerate(settings[0]["ways"]):
            row = [first["way"]]
            for s in settings:
                way = s["ways"][i]
                row += [us(way.get("cpu_us_per_wait")),
                        f"{way['throughput_to_spin']:.3f}" if way["waits"] else "-"]
            rows.append(row)
        table(rows)


def print_faults(part):
    for case in part["cases"]:
        verdict = "could not run" if not case["ran"] else "holds" if case["holds"] else "FAILS"
        print(f"  {case['what']}: {verdict}")
        print(f"    {case.get('saw') or case.get('why')}".replace("; with its", ";\n    with its"))


def print_demo(part):
    rows = [["plan", "waits", "failed", "CPU to spin", "throughput to spin"]]
    for run in part["demo"]["runs"]:
        rows.append([plan_name(run["plan"]), run["waits"], run["failed"], f"{run['cpu_ratio_to_spin']:.3f}",
                     f"{run['throughput_ratio_to_spin']:.3f}"])
    table(rows)


SECTIONS = (  # with what a part has found when there is something to show
    ("probe", "Can gard use the card?", "stores", print_probe),
    ("delay", "Delay from the end of the work to the return of the wait, us", "by_work_us",
     print_delay),
    ("load", "What waiting costs", "settings", print_load),
    ("faults", "Faults", "cases", print_faults),
    ("word", "How this CPU waits for a word, and what a store from the card does", "kind",
     print_word),
    ("demo", "gar-demo --device cuda", "demo", print_demo),
)


def print_verdict(found):
    print()
    for failure in found["failures"]:
        print(f"FAILED: {failure}")
    unrun = [name for name, part in found["parts"].items() if not part["ran"]]
    verdict = ("what has to hold does not" if found["failures"]
               else "there is no card: nothing was checked" if "no_card" in found
               else "what ran holds, but not all ran to its end: " + ", ".join(unrun or ["gard"])
               if found["exit_status"] != 0 else "what has to hold holds")
    print(f"{verdict} ({found['seconds']:.0f} s)")


def print_report(found):
    print_head(found)
    for name, title, key, show in SECTIONS:
        part = found["parts"].get(name)
        if part is None or ("no_card" in found and key not in part):
            continue
        print(f"\n{title}")
        if key in part:
            show(part)
        if not part["ran"] and "no_card" not in found:
            print(f"  did not run to its end: {part['why']}")
    print_verdict(found)
