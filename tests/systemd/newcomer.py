"""newcomer.py SOURCE PACKAGE...: the way from an empty Debian 12 to an await in Python through gard, with
the seconds of each step. Exit status: 0 passed, 1 failed, 77 skipped.

The empty system is Debian's own minimal one with systemd, fetched once from
where this machine's apt has Debian 12 (build/package/debian12.tar). What
apt fetches is fetched anew, in a chroot, since a box has no network; all else is done in the box.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from box import Box, Unavailable

SKIPPED = 77
LIMIT_S = 300  # of the steps that do not depend on the network
UNATTENDED = ("env", "DEBIAN_FRONTEND=noninteractive")
INSTALL = ("apt-get", "-y", "install")
AWAIT = "/usr/share/doc/python3-garclient/examples/own_device.py"


class Failed(Exception):
    """A step that did not do what a newcomer would expect."""


def mirror():
    """Where this machine's own apt has Debian 12 from."""
    said = subprocess.run(["apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)", "Created-By: Packages"],
                          text=True, capture_output=True, check=False).stdout
    for line in said.splitlines():
        release, _, uri = line.partition(" ")
        if release == "bookworm":
            return uri
    raise Unavailable("this machine's apt knows no archive of Debian 12 (bookworm)")


def empty_system(source):
    """An archive of a Debian 12 that nothing was installed on."""
    archive = source / "build/package/debian12.tar"
    if archive.exists():
        return archive
    if not shutil.which("mmdebstrap"):
        raise Unavailable("mmdebstrap is not there: install mmdebstrap")
    archive_of_debian = mirror()
    began = time.monotonic()
    made = archive.with_suffix(".part.tar")
    ended = subprocess.run(["mmdebstrap", "--variant=minbase", "--include=systemd-sysv", "bookworm", made,
                            archive_of_debian], text=True, capture_output=True, check=False)
    if ended.returncode != 0:
        raise Unavailable(f"no empty Debian 12 could be made: {ended.stderr.strip()[-300:]}")
    made.rename(archive)
    print(f"made an empty Debian 12 in {time.monotonic() - began:.0f} s; it is kept in {archive}")
    return archive


def unpacked(archive, packages, directory):
    """The empty system as a folder, with what a newcomer has: the packages, and a network's names."""
    tree = directory / "tree"
    tree.mkdir()
    subprocess.run(["tar", "-C", tree, "--numeric-owner", "-xf", archive], check=True)
    (tree / "packages").mkdir()
    for package in packages:
        shutil.copy(package, tree / "packages")
    for name in ("resolv.conf", "hosts"):
        shutil.copy(f"/etc/{name}", tree / "etc" / name)
    return tree


class Way:
    """The steps, each timed and printed as it ends."""

    def __init__(self):
        self.ours_s = self.network_s = 0.0

    def step(self, shown, run, *, network=False, needed=""):
        began = time.monotonic()
        ended = run()
        seconds = time.monotonic() - began
        said = ended.stdout + ended.stderr
        if ended.returncode != 0 or not re.search(needed, said):
            what = f"{shown}: status {ended.returncode}, {needed!r} expected\n{said[-3000:]}"
            raise Unavailable(what) if network else Failed(what)
        if network:
            self.network_s += seconds
        else:
            self.ours_s += seconds
        print(f"{seconds:8.1f} s  {shown}", flush=True)
        return said


def fetch(way, tree):
    """What needs the network, in a chroot of the empty system."""
    def apt(*words):
        return subprocess.run(["chroot", tree, *UNATTENDED, "apt-get", "-y", *words], text=True, check=False,
                              capture_output=True, timeout=900)

    debs = sorted(f"/packages/{deb.name}" for deb in (tree / "packages").iterdir())
    way.step("apt-get update", lambda: apt("update"), network=True)
    way.step("apt-get install ./*.deb: what it fetches",
             lambda: apt("--download-only", "install", *debs), network=True)
    fetched = list((tree / "var/cache/apt/archives").glob("*.deb"))
    mib = sum(deb.stat().st_size for deb in fetched) / 2**20
    print(f"{'':12}({len(fetched)} packages of Debian's, {mib:.1f} MiB)")
    return debs


def walk(way, box, debs):
    """The newcomer's commands, as the README has them."""
    def at(*words):
        return lambda: box.run(*words, timeout=900)

    if box.run("sh", "-c", "command -v gard garctl python3").stdout:
        raise Failed("the system is not empty")
    way.step("apt-get install ./*.deb: unpacks, configures, starts",
             at(*UNATTENDED, *INSTALL, *debs))
    way.step("systemctl start gard", at("systemctl", "start", "gard"))
    print(way.step("garctl status", at("garctl", "status"), needed="executor"), end="")
    print(way.step(f"python3 {AWAIT}", at("python3", AWAIT), needed=r"after \d+ us \(daemon\)"), end="")


def main():
    source = Path(sys.argv[1])
    packages = [name for name in sys.argv[2:] if "-dbgsym_" not in name]
    way = Way()
    try:
        with tempfile.TemporaryDirectory(prefix="gard-newcomer-") as place:
            tree = unpacked(empty_system(source), packages, Path(place))
            debs = fetch(way, tree)
            with Box(source / "build/package", source, tree=tree) as box:
                walk(way, box, debs)
    except Unavailable as why:
        print(f"skipped: {why}")
        return SKIPPED
    except Failed as what:
        print(f"newcomer: {what}")
        return 1
    print(f"{way.ours_s + way.network_s:8.1f} s  in all, {way.network_s:.1f} s of it the network's")
    if way.ours_s > LIMIT_S:
        print(f"newcomer: more than {LIMIT_S} s")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
