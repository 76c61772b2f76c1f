"""The manual's sources against what they describe: symbols, prototypes, error numbers, each other.
usage: pages_test.py BUILD_DIRECTORY CMAKE"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from page import PAGES, SOURCE, Skip, calls, page, pages, run_checks, signature, symbols

sys.path.insert(0, str(PAGES))
import make_errors  # noqa: E402

ERRORS = (SOURCE / "proto/errors.def").read_text(encoding="utf-8")
CALL_SECTIONS = ["NAME", "LIBRARY", "SYNOPSIS", "DESCRIPTION", "RETURN VALUES", "THREADS",
                 "EXAMPLES", "SEE ALSO"]
# mandoc knows only what is installed; which of ours there are is checked here.
NOT_OURS = ("referenced manual not found", "outdated mandoc.db")


def a_symbol_has_one_page_and_a_page_its_symbols():
    names = [name for each in calls() for name in each.names()]
    for name in sorted(symbols() - set(names)):
        yield f"{name}: exported, but no page of clients/man has its name"
    for name in sorted(set(names) - symbols()):
        yield f"{name}: has a page, but gar.map does not export it"
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"{name}: several pages have its name"


def a_synopsis_is_what_the_header_declares():
    header = (SOURCE / "clients/garclient/gar.h").read_text(encoding="utf-8")
    header = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    header = re.sub(r"^ *#.*$", "", header, flags=re.M)
    declared = {name: signature(returns, [takes]) for returns, name, takes in
                re.findall(r"^GAR_API\s+([^;(]*?)(gar_\w+)\(([^;]*)\);", header, re.M)}
    for each in calls():
        shown = each.prototypes()
        for name in each.names():
            if shown.get(name) != declared.get(name):
                yield f"{each.name}: {name}: shows {shown.get(name)}, gar.h has {declared.get(name)}"


def a_call_says_all_that_a_caller_needs_to_know():
    for each in calls():
        needed = [section for section in CALL_SECTIONS if section in each.sections()]
        if needed != CALL_SECTIONS:
            yield f"{each.name}: has sections {each.sections()}, needs {CALL_SECTIONS} in this order"
        if each.path.stem != each.names()[0]:
            yield f"{each.name}: is named otherwise than its first call, {each.names()[0]}"


def a_page_names_errors_as_the_registry_does():
    known = {row[1]: row[0] for row in make_errors.ROW.findall(ERRORS)}
    for each in pages():
        for number, name in each.errors():
            if known.get(name) != number:
                yield f"{each.name}: {name} is {known.get(name)}, not {number}"
        for name in re.findall(r"^\.Er (\w+)", each.text, re.M):
            if name not in known:
                yield f"{each.name}: no error is named {name}"


def gar_7_has_the_whole_registry():
    shown = page("gar.7").text
    if make_errors.with_table(shown, ERRORS) != shown:
        yield "its table is not errors.def's: run clients/man/make_errors.py"
    listed = [name for _, name in page("gar.7").errors()]
    for row in make_errors.ROW.findall(ERRORS):
        if row[1] not in listed:
            yield f"{row[1]} is not in its table"
    if ERRORS.count("\nGAR_ERROR(") != len(listed):
        yield f"it has {len(listed)} rows, errors.def {ERRORS.count(chr(10) + 'GAR_ERROR(')}"


def a_reference_leads_somewhere():
    there = {f"{name} {each.section}" for each in pages() for name in each.names()}
    for each in pages():
        for name, section in each.references():
            if name.startswith("gar") and f"{name} {section}" not in there:
                yield f"{each.name}: refers to {name}({section}), which is not there"


def mandoc_finds_nothing():
    if not shutil.which("mandoc"):
        raise Skip("mandoc is not installed")
    for each in pages():
        said = subprocess.run(["mandoc", "-T", "lint", "-W", "style", each.path], check=False,
                              capture_output=True, text=True)
        for line in (said.stdout + said.stderr).splitlines():
            if not any(words in line for words in NOT_OURS):
                yield line


def man_warns_of_nothing():
    if not shutil.which("man") or not shutil.which("groff"):
        raise Skip("man or groff is not installed")
    environment = dict(os.environ, LC_ALL="C.UTF-8", MANWIDTH="80")
    for each in pages():
        said = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", each.path],
                              check=False, env=environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
        if said.stderr or said.returncode != 0:
            yield f"{each.name}: {said.stderr}"


def an_installed_page_is_found_by_each_of_its_names(build, cmake):
    with tempfile.TemporaryDirectory(prefix="gar-man-") as place:
        subprocess.run([cmake, "--install", build, "--prefix", place, "--component",
                        "libgarclient-dev"], check=True, stdout=subprocess.DEVNULL)
        installed = next(Path(place).glob("**/man3"))
        for name in sorted(symbols()):
            file = installed / f"{name}.3"
            if not file.exists():
                yield f"{name}.3 is not installed"
                continue
            text = file.read_text(encoding="utf-8")
            target = installed.parent / text.split()[1] if text.startswith(".so ") else file
            if not target.exists() or f"\n.Nm {name}" not in target.read_text(encoding="utf-8"):
                yield f"{name}.3 leads to {target.name}, which does not have it"


def main(build, cmake):
    def installed():
        yield from an_installed_page_is_found_by_each_of_its_names(build, cmake)
    return run_checks(a_symbol_has_one_page_and_a_page_its_symbols,
                      a_synopsis_is_what_the_header_declares,
                      a_call_says_all_that_a_caller_needs_to_know,
                      a_page_names_errors_as_the_registry_does, gar_7_has_the_whole_registry,
                      a_reference_leads_somewhere, mandoc_finds_nothing, man_warns_of_nothing,
                      installed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
