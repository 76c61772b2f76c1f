#!/usr/bin/env python3
"""Style as a test: layering, sizes and documents, each finding with what to do instead."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOP_LEVEL = {
    "CMakeLists.txt", "CMakePresets.json", "daemon", "lib", "proto", "clients", "config",
    "systemd", "tests", "bench", "README.md", "dev", "LICENSE", "SECURITY.md",
    "CONTRIBUTING.md", "CHANGELOG.md",
}
SOURCE = re.compile(r"\.(hpp|cpp|h|c)$")

# (paths it applies to, paths exempt, pattern, what to do instead)
LINE_RULES = [
    (r"^lib/core/", r"^$", re.compile(r"#include <(sys/|unistd|fcntl|pthread|thread|mutex|"
                                      r"condition_variable|chrono|ctime|time\.h|dlfcn|linux/)"),
     "the core has no clock, descriptor or thread: take it as an argument or a port"),
    (r"^lib/core/", r"^$", re.compile(r"\bgetenv\b"), "the core reads no environment"),
    (r"^lib/core/", r"^$", re.compile(r"\bvirtual\b(?!.*(time|call))"),
     "no virtual call in the core: use a concept and a template parameter"),
    (r"^(proto|lib/core|lib/port)/.*\.(hpp|h|cpp)$", r"^$",
     re.compile(r'#include "(lib/linux|lib/gpu|daemon|clients)/'),
     "the dependency arrow is proto <- core <- linux, gpu <- daemon, clients"),
    (r"^lib/(linux|gpu)/", r"^$", re.compile(r'#include "(daemon|clients)/'),
     "the dependency arrow is proto <- core <- linux, gpu <- daemon, clients"),
    (r"\.(hpp|cpp|h|c)$", r"^(lib/gpu|tests)/", re.compile(r"\b(dlopen|dlsym)\s*\("),
     "only lib/gpu resolves symbols at run time"),
    (r"\.(hpp|cpp|h|c)$", r"^(lib/linux|tests|bench)/", re.compile(r"\bsyscall\s*\("),
     "only lib/linux makes raw system calls"),
    (r".", r"^(LICENSE|tests/tidy/)", re.compile(r"\b(TODO|FIXME|XXX)\b"),
     "finish it, or leave it out"),
    (r"\.(hpp|cpp|h|c|py|md|toml|service)$", r"^(LICENSE|.*\.json$)", re.compile(r"[ \t]+$"),
     "remove blanks at the end of the line"),
    (r"\.(hpp|cpp|h|c)$", r"^$", re.compile(r"^#if 0"), "delete dead code"),
]


def tracked():
    out = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    return [name for name in out.stdout.decode().split("\0") if name]


def check_lines(name, text, report):
    for number, line in enumerate(text.splitlines(), 1):
        for where, exempt, pattern, remedy in LINE_RULES:
            if re.search(where, name) and not re.search(exempt, name) and pattern.search(line):
                report(f"{name}:{number}: {line.strip()[:80]}\n    {remedy}")
        if SOURCE.search(name) and len(line) > 100:
            report(f"{name}:{number}: {len(line)} columns; 100 at most")


def main():
    findings = []
    report = findings.append
    names = tracked()
    for name in names:
        top = name.split("/")[0]
        if top not in TOP_LEVEL and not top.startswith("."):
            report(f"{name}: the top level is fixed; put it into a folder")
        path = ROOT / name
        if not path.is_file() or name.endswith(".bin"):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        check_lines(name, text, report)
        if path.name == "README.md" and name != "README.md" and len(text.splitlines()) > 40:
            report(f"{name}: {len(text.splitlines())} lines; a folder's README has 40 at most")
        if name.endswith((".hpp", ".h")) and not text.lstrip().startswith(("//", "/*")):
            report(f"{name}: a header opens with its purpose")
    for folder in sorted({name.rsplit("/", 1)[0] for name in names if SOURCE.search(name)}):
        if f"{folder}/README.md" not in names:
            report(f"{folder}: a folder has a README.md: what lives here, what may not, what to "
                   "read first")
    readme = ROOT / "README.md"
    if readme.is_file() and len(readme.read_text().splitlines()) > 400:
        report("README.md: 400 lines at most")
    for finding in findings:
        print(finding)
    print(f"tidy: {len(names)} files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
