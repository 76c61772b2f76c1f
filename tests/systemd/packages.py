"""packages.py SOURCE PACKAGE...: installs, upgrades, removes and purges the Debian packages in a box, as
an operator does, and says what held. Exit status: 0 passed, 1 failed, 77 skipped."""

import subprocess
import sys
import tempfile
from pathlib import Path

from box import Box, Unavailable

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "documents"))
from page import pages, symbols  # noqa: E402

SKIPPED = 77
COMMANDS = ("gard", "garctl", "gar-demo", "gar-bench")


def newer(package, directory):
    """The same package as its next version, with another shipped configuration."""
    tree = directory / "tree"
    subprocess.run(["dpkg-deb", "--raw-extract", package, tree], check=True)
    control = tree / "DEBIAN/control"
    text = control.read_text(encoding="utf-8")
    version = next(line for line in text.splitlines() if line.startswith("Version: "))
    control.write_text(text.replace(version, version + "+next"), encoding="utf-8")
    shipped = tree / "etc/gard/gard.toml"
    shipped.write_text(shipped.read_text(encoding="utf-8") + "# The next version's.\n", encoding="utf-8")
    built = directory / "gard_next.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", tree, built], check=True,
                   stdout=subprocess.DEVNULL)
    return built


def missing(daemon, development):
    """What of the manual and the completions is not in the packages."""
    def paths(package):
        listed = subprocess.run(["dpkg-deb", "--contents", package], check=True, text=True,
                                capture_output=True).stdout
        return {line.split()[5].lstrip(".") for line in listed.splitlines()}

    wanted = {f"/usr/share/bash-completion/completions/{name}" for name in COMMANDS}
    wanted |= {f"/usr/share/man/man{each.section}/{each.name}.gz" for each in pages()
               if each.section != 3}
    calls = {f"/usr/share/man/man3/{name}.3.gz" for name in symbols()}
    return sorted(wanted - paths(daemon)) + sorted(calls - paths(development))


def main():
    source = Path(sys.argv[1])
    packages = [Path(name) for name in sys.argv[2:] if "-dbgsym_" not in name]
    daemon = next(package for package in packages if package.name.startswith("gard_"))
    development = next(package for package in packages
                       if package.name.startswith("libgarclient-dev_"))
    if left_out := missing(daemon, development):
        print("packages: these are not in them:", *left_out)
        return 1
    with tempfile.TemporaryDirectory(prefix="gard-next-") as directory:
        upgrade = newer(daemon, Path(directory))
        try:
            with Box(source / "build/package", source, [*packages, upgrade]) as box:
                return box.run("/usr/bin/python3", "-B",
                               "/box/source/tests/systemd/inside_packages.py",
                               timeout=300, capture_output=False).returncode
        except Unavailable as why:
            print(f"skipped: {why}")
            return SKIPPED


if __name__ == "__main__":
    sys.exit(main())
