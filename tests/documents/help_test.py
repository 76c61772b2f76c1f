"""Every option and command that a program's --help has is in its page, and the other way round; and
each program tells its version.
usage: help_test.py GARD GARCTL GAR_DEMO GAR_BENCH"""

import json
import re
import subprocess
import sys

from page import SOURCE, page, quiet_environment, run_checks

OPTION = re.compile(r"^ +(?:-[a-zA-Z],)?(--[a-z][a-z-]*)", re.M)
# Every command has these; a page has them once, among the program's own.
EVERYWHERE = {"--help"}
BENCH_COMMANDS = ("ab", "replay", "scale")  # not CLI11's: its help only names them


def said(*command):
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60,
                           env=quiet_environment())
    return ended.returncode, ended.stdout


def help_of(*command):
    status, text = said(*command, "--help")
    assert status == 0, command
    return text


def subcommands(text):
    found = re.search(r"^Subcommands:\n((?:  .*\n?)+)", text, re.M)
    return re.findall(r"^  ([a-z]+)", found.group(1), re.M) if found else []


def command_helps(program, before=()):
    """"plan set" to its help, for each command that is none of commands alone."""
    found = {}
    for name in subcommands(help_of(program, *before)):
        words = (*before, name)
        deeper = command_helps(program, words)
        found.update(deeper or {" ".join(words): help_of(program, *words)})
    return found


def compare(what, shown, written):
    for name in sorted(shown - written):
        yield f"{what}: --help has {name}, the page does not"
    for name in sorted(written - shown):
        yield f"{what}: the page has {name}, --help does not"


def compare_commands(program, written, helps, common):
    yield from compare(program, set(helps), set(written))
    for command in sorted(set(helps) & set(written)):
        yield from compare(f"{program} {command}",
                           set(OPTION.findall(helps[command])) - common, written[command])


def main(gard, garctl, demo, bench):
    def options_of_programs_are_in_their_pages():
        for program, name in ((gard, "gard.8"), (garctl, "garctl.1"), (demo, "gar-demo.1"),
                              (bench, "gar-bench.1")):
            yield from compare(name, set(OPTION.findall(help_of(program))), page(name).options())

    def commands_of_garctl_are_in_its_page():
        common = EVERYWHERE | {"--control", "--json"}
        yield from compare_commands("garctl", page("garctl.1").commands(), command_helps(garctl),
                                    common)

    def the_longest_trace_is_in_its_page():
        longest = re.search(r"\d+s at most", help_of(garctl, "trace")).group()
        if longest not in " ".join(page("garctl.1").part("COMMANDS")):
            yield f"garctl.1: --help has {longest!r}, the page does not"

    def item_of_garctl(section, name):
        """The text of an item of garctl's page, with its requests."""
        text = "\n".join(page("garctl.1").part(section))
        return re.search(rf"^\.It {name}.*?(?=^\.It |^\.El)", text, re.M | re.S).group()

    def keys_of_top_are_in_its_page():
        keys = (SOURCE / "clients/garctl/top_view.cpp").read_text(encoding="utf-8")
        taken = set(re.findall(r"^    case '(.)':$", keys, re.M))
        written = item_of_garctl("COMMANDS", "Cm top")
        shown = set(re.findall(r"^\.Ql (\S)", written, re.M))
        if "the space bar" in written:
            shown.add(" ")
        yield from compare("top's keys", taken, shown)
        if len(taken) < 10 or ("up_key" in keys) != ("arrows" in written):
            yield "garctl.1: the arrows, or keys were not found"

    # Without a gard: each command with what it needs.
    needed = {"report": ["--output", "/nowhere/file"], "plan check": ["no plan"],
              "trace": ["--for", "1ms", "--output", "/nowhere/file"], "plan set": ["x" * 600]}

    def statuses(*more):
        return {command: said(garctl, *command.split(), *needed.get(command, ()), *more)[0]
                for command in command_helps(garctl)}

    def commands_that_take_no_json_are_in_its_page():
        item = item_of_garctl("DESCRIPTION", "Fl -json")
        written = " ".join(re.findall(r"^Not for\n((?:\.Cm .*\n?)+)", item, re.M))
        refusing = {command for command, status in statuses("--json").items() if status == 2}
        yield from compare("--json", refusing, set(re.findall(r"\.Cm ([a-z ]+[a-z])", written)))

    def commands_that_end_with_1_are_in_its_page():
        written = item_of_garctl("EXIT STATUS", "1")
        named = set(re.findall(r"^\.Cm ([a-z ]+[a-z])", written, re.M))
        ended = {command for command, status in statuses().items() if status == 1}
        for command in sorted(ended - named):
            yield f"{command} ends with 1, which the page does not say"
        if not set(needed) <= ended:
            yield f"these end otherwise: {set(needed) - ended}"

    def findings_of_doctor_are_in_its_page():
        _, text = said(garctl, "doctor", "--json")
        found = {each["id"] for each in json.loads(text)}
        written = [line[len(".It Ic "):] for line in page("garctl.1").part("FINDINGS")
                   if line.startswith(".It Ic ")]
        yield from compare("garctl doctor", found, set(written))
        if len(set(written)) != len(written):
            yield f"garctl.1: a finding is there twice: {written}"

    def commands_of_gar_bench_are_in_its_page():
        helps = {name: help_of(bench, name) for name in BENCH_COMMANDS}
        yield from compare_commands("gar-bench", page("gar-bench.1").commands(), helps, EVERYWHERE)
        named = re.findall(r"^  gar-bench ([a-z]+)", help_of(bench), re.M)
        yield from compare("gar-bench", set(named), set(helps))

    def cases_of_gar_bench_are_in_its_page():
        cases = re.search(r"^Cases: (.*)$", help_of(bench), re.M).group(1).split()
        text = " ".join(line for line in page("gar-bench.1").part("DESCRIPTION"))
        written = re.search(r"or all: (\.Cm .*?) \.Bl", text).group(1)
        yield from compare("gar-bench's cases", set(cases),
                           set(re.findall(r"[a-z_]+", written.replace(".Cm", ""))))

    def each_program_tells_its_version():
        for program in (gard, garctl, demo, bench):
            status, text = said(program, "--version")
            if status != 0 or not re.fullmatch(r"(gard|garctl|gar-demo|gar-bench) \d+\.\d+\.\d+\n", text):
                yield f"{program} --version: status {status}, {text!r}"

    return run_checks(options_of_programs_are_in_their_pages, commands_of_garctl_are_in_its_page,
                      the_longest_trace_is_in_its_page, keys_of_top_are_in_its_page,
                      commands_that_take_no_json_are_in_its_page,
                      commands_that_end_with_1_are_in_its_page,
                      findings_of_doctor_are_in_its_page, commands_of_gar_bench_are_in_its_page,
                      cases_of_gar_bench_are_in_its_page, each_program_tells_its_version)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
