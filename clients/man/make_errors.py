#!/usr/bin/env python3
"""Writes the table of error numbers into gar.7, from proto/errors.def.

usage: make_errors.py ERRORS_DEF GAR_7; a test holds the table against errors.def.
"""

import re
import sys
import textwrap

ROW = re.compile(
    r'GAR_ERROR\((0x[0-9a-f]{4}), (\w+), (\w+), (\w+), (\w+), (\d+), '
    r'"((?:[^"\\]|\\.)*)", "((?:[^"\\]|\\.)*)", "((?:[^"\\]|\\.)*)"\)')
BEGIN = r'.\" errors: begin'
END = r'.\" errors: end'


def escaped(text):
    """A text of errors.def as mdoc shows it."""
    text = re.sub(r"\\(.)", r"\1", text)
    for plain, shown in (("\\", r"\e"), ("'", r"\(aq"), ("`", r"\(ga"), ('"', r"\(dq")):
        text = text.replace(plain, shown)
    return text


def table(errors):
    lines = []
    for number, name, kind, category, retry, exit_status, message, _, remedy in ROW.findall(errors):
        notes = [kind, category] + (["retry"] if retry == "yes" else [])
        if exit_status != "0":
            notes.append(f"exit status {exit_status}")
        lines += [f".It {number} Er {name}", f'.Dq "{escaped(message)}"',
                  f"({', '.join(notes)}).",
                  *textwrap.wrap(escaped(remedy), 78, break_on_hyphens=False)]
    return lines


def with_table(page, errors):
    lines = page.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith(BEGIN))
    end = next(i for i, line in enumerate(lines) if line.startswith(END))
    return "\n".join([*lines[:begin + 1], *table(errors), *lines[end:]]) + "\n"


def main(arguments):
    if len(arguments) != 2:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    errors, page = (open(name, encoding="utf-8").read() for name in arguments)
    with open(arguments[1], "w", encoding="utf-8") as file:
        file.write(with_table(page, errors))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
