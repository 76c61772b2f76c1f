"""The manual's sources, read: names, sections, options, examples. And how a test of this folder
tells what it found."""

import os
import re
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
PAGES = SOURCE / "clients/man"
SKIPPED = 77


class Skip(Exception):
    """What this host cannot do, and why."""


def run_checks(*checks):
    """Runs each, which yields its faults; prints them. The exit status."""
    faults, skips = [], []
    for check in checks:
        try:
            faults += [f"{check.__name__}: {fault}" for fault in check()]
        except Skip as why:
            skips.append(f"skipped: {check.__name__}: {why}")
    print("\n".join([*skips, *faults]) or f"{len(checks)} checks passed")
    return 1 if faults else SKIPPED if len(skips) == len(checks) else 0


def words(text):
    """An mdoc line's arguments."""
    return [quoted or bare for quoted, bare in re.findall(r'"((?:[^"]|"")*)"|(\S+)', text)]


def unescaped(text):
    for escape, plain in ((r"\e", "\\"), (r"\(aq", "'"), (r"\(dq", '"'), (r"\(ga", "`"),
                          (r"\-", "-"), (r"\&", "")):
        text = text.replace(escape, plain)
    return text


def option_names(line):
    """--name for each Fl of a line."""
    return {"-" + name for name in re.findall(r"\bFl (-[a-z][a-z-]*)", line)}


class Page:
    def __init__(self, path):
        self.path = Path(path)
        self.name = self.path.name
        self.section = int(self.name[-1])
        self.text = self.path.read_text(encoding="utf-8")
        self.lines = self.text.splitlines()

    def sections(self):
        return [line[4:] for line in self.lines if line.startswith(".Sh ")]

    def part(self, section):
        """The lines of a .Sh or .Ss section."""
        inside, found = False, []
        for line in self.lines:
            if line.startswith((".Sh ", ".Ss ")):
                heading = unescaped(line[4:])
                inside = heading == section or (inside and line.startswith(".Ss "))
            elif inside:
                found.append(line)
        return found

    def names(self):
        return [words(line)[1] for line in self.part("NAME") if line.startswith(".Nm ")]

    def errors(self):
        """(number, name) wherever the page has both."""
        return re.findall(r"^\.It (0x[0-9a-f]{4}) Er (\w+)$", self.text, re.M)

    def references(self):
        return re.findall(r"^\.Xr (\S+) (\d)", self.text, re.M)

    def displays(self, section):
        """The literal displays of a section, as a reader has them."""
        shown, inside, lines = [], False, []
        for line in self.part(section):
            if line.startswith(".Bd -literal"):
                inside, lines = True, []
            elif line == ".Ed" and inside:
                inside = False
                shown.append(unescaped("\n".join(lines)) + "\n")
            elif inside:
                lines.append(line)
        return shown

    def prototypes(self):
        """Of the SYNOPSIS: a call's name to what it returns and takes, blanks left out."""
        found, returns, name, takes = {}, "", None, []
        for line in self.part("SYNOPSIS"):
            given = words(line)
            if given[:1] == [".Ft"]:
                returns = " ".join(given[1:])
            elif given[:1] == [".Fn"]:
                found[given[1]] = signature(returns, given[2:])
            elif given[:1] == [".Fo"]:
                name, takes = given[1], []
            elif given[:1] == [".Fa"] and name:
                takes += given[1:]
            elif given[:1] == [".Fc"]:
                found[name], name = signature(returns, takes), None
        return found

    def commands(self):
        """Of COMMANDS: "plan set" to the options that its item has, those of items within it too."""
        found, command = {}, None
        for line in self.part("COMMANDS"):
            item = re.match(r"\.It ((?:Cm [a-z]+ ?)+)", line)
            if item:
                command = " ".join(re.findall(r"Cm ([a-z]+)", item.group(1)))
                found[command] = option_names(line)
            elif command and line.startswith(".It Fl "):
                found[command] |= option_names(line)
        return found

    def options(self):
        """Those of the program itself: items outside COMMANDS."""
        found = set()
        for section in set(self.sections()) - {"COMMANDS"}:
            for line in self.part(section):
                if line.startswith(".It Fl "):
                    found |= option_names(line)
        return found

    def keys(self):
        """section.key for each .It Ic below .Ss [section]."""
        found, section = set(), None
        for line in self.lines:
            if line.startswith((".Ss ", ".Sh ")):
                named = re.match(r"\.Ss \[(\w+)\]", line)
                section = named.group(1) if named else None
            elif section and line.startswith(".It Ic "):
                found.add(f"{section}.{line.split()[2]}")
        return found


    def item(self, key):
        """The text of a key's item, without line breaks in a value."""
        section, name = key.split(".")
        text = "\n".join(self.part(f"[{section}]"))
        found = re.search(rf"^\.It Ic {name}\n(.*?)(?=\n\.It Ic |\Z)", text, re.M | re.S)
        return found.group(1).replace("\\e\n", "") if found else ""


def signature(returns, takes):
    return re.sub(r"\s+", "", f"{returns}({','.join(takes)})")


def pages():
    return [Page(path) for path in sorted(PAGES.glob("*.[1-8]"))]


def page(name):
    return Page(PAGES / name)


def calls():
    return [each for each in pages() if each.section == 3]


def symbols():
    text = (SOURCE / "clients/garclient/gar.map").read_text(encoding="utf-8")
    return set(re.findall(r"^\s+(gar_\w+);", text, re.M))


def quiet_environment(**more):
    """Without a gard of this machine."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("GARD_", "GAR_"))}
    return {**clean, "GARD_SOCKET": "/nonexistent/gard.sock",
            "GARD_CONTROL": "/nonexistent/control.sock", **more}


sys.dont_write_bytecode = True
