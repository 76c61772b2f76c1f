"""Debian packages that are unpacked into a folder and never installed.

Debian 12's own Bochs and QEMU execute none of the instructions in question, Debian 13's do. So
these are fetched with everything that they link to, the C library too, and run through that one's
loader. apt checks the signatures; it works on lists of its own, and the host's stay as they are.
"""

import os
import platform
import shutil
import subprocess
from pathlib import Path

SUITE = "trixie"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
# With all that they depend on.
PROGRAMS = ["bochs", "bochs-term", "bochsbios", "vgabios", "isolinux", "syslinux-common",
            "genisoimage", "qemu-system-arm"]
# By architecture; their own files alone.
KERNELS = {"amd64": "linux-image-cloud-amd64", "arm64": "linux-image-cloud-arm64"}


class Unavailable(Exception):
    """Why the packages cannot be had here: nobody's fault."""


class Packages:
    """What is under `folder` once it was fetched."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.root = self.folder / "root"
        self.libraries = self.root / "usr/lib/x86_64-linux-gnu"

    def fetch(self, seconds_left):
        """Fetches what is not there. `seconds_left()` bounds it."""
        done = self.folder / "complete"
        wanted = " ".join([SUITE, *PROGRAMS, *KERNELS.values()])
        if done.is_file() and done.read_text() == wanted:
            return
        if platform.machine() != "x86_64":
            raise Unavailable("the emulators are fetched for x86_64 hosts only")
        for tool in ("apt-get", "apt-cache", "dpkg-deb"):
            if not shutil.which(tool):
                raise Unavailable(f"no {tool}: this host is no Debian")
        if not Path(KEYS).is_file():
            raise Unavailable(f"no {KEYS}")
        shutil.rmtree(self.folder, ignore_errors=True)
        for part in ("lists/partial", "cache/archives/partial", "preferences", "conf", "root"):
            (self.folder / part).mkdir(parents=True)
        (self.folder / "status").touch()
        mirror = debian_mirror()
        (self.folder / "sources.list").write_text(f"deb [signed-by={KEYS}] {mirror} {SUITE} main\n")
        try:
            self._fetch_and_unpack(mirror, seconds_left)
        except subprocess.TimeoutExpired as expired:
            raise Unavailable(f"{mirror} is too slow: {expired.cmd[0]} took longer than "
                              f"{expired.timeout:.0f} s") from expired
        except subprocess.CalledProcessError as failed:
            raise Unavailable(f"{' '.join(failed.cmd)} failed with {failed.returncode}") from failed
        done.write_text(wanted)

    def kernel(self, architecture):
        """The kernel's file for amd64 or arm64."""
        return next((self.root / f"kernel-{architecture}/boot").glob("vmlinuz-*"))

    def command(self, program):
        """A command line that runs one of the programs with the C library it was built for."""
        loader = self.root / "usr/lib64/ld-linux-x86-64.so.2"
        if not loader.exists():
            loader = self.libraries / "ld-linux-x86-64.so.2"
        # Some libraries keep parts of themselves one folder deeper.
        path = f"{self.libraries}:{self.libraries}/pulseaudio"
        return [str(loader), "--library-path", path, str(self.root / "usr/bin" / program)]

    def _fetch_and_unpack(self, mirror, seconds_left):
        self._apt("apt-get", ["update"], seconds_left, f"{mirror} does not give {SUITE}")
        self._apt("apt-get", ["--download-only", "--yes", "install", "--no-install-recommends",
                              *PROGRAMS], seconds_left, f"{mirror} does not give the packages")
        archives = self.folder / "cache/archives"
        for package in sorted(archives.glob("*.deb")):
            unpack(package, self.root, seconds_left)
        for architecture, name in KERNELS.items():
            versioned = self._versioned_kernel(f"{name}:{architecture}", seconds_left)
            self._apt("apt-get", ["download", versioned], seconds_left,
                      f"{mirror} does not give {versioned}", cwd=archives)
            kernel = next(archives.glob(versioned.split(":", maxsplit=1)[0] + "_*.deb"))
            unpack(kernel, self.root / f"kernel-{architecture}", seconds_left)
            # Its modules: nothing here loads any.
            shutil.rmtree(self.root / f"kernel-{architecture}/usr/lib/modules", ignore_errors=True)
            shutil.rmtree(self.root / f"kernel-{architecture}/lib/modules", ignore_errors=True)
        shutil.rmtree(archives)

    def _versioned_kernel(self, name, seconds_left):
        answer = self._apt("apt-cache", ["depends", name], seconds_left, f"nobody knows {name}")
        for line in answer.splitlines():
            if line.strip().startswith("Depends: linux-image-"):
                return line.split()[1].split(":")[0] + ":" + name.split(":")[1]
        raise Unavailable(f"{name} names no kernel")

    def _apt(self, tool, arguments, seconds_left, failure, cwd=None):
        at = self.folder
        options = {
            "Dir::Etc": at, "Dir::Etc::sourcelist": at / "sources.list",
            "Dir::Etc::sourceparts": "/dev/null", "Dir::Etc::preferences": "/dev/null",
            "Dir::Etc::preferencesparts": at / "preferences", "Dir::State": at,
            "Dir::State::lists": at / "lists", "Dir::State::status": at / "status",
            "Dir::Cache": at / "cache", "Dir::Log": at, "APT::Architecture": "amd64",
            "APT::Architectures": ",".join(KERNELS), "APT::Sandbox::User": "",
            "APT::Update::Error-Mode": "any", "Acquire::Retries": "2",
            "Acquire::http::Timeout": "20", "Debug::NoLocking": "true",
        }
        command = [tool, "-q"]
        for name, value in options.items():
            command += ["-o", f"{name}={value}"]
        done = subprocess.run(command + arguments, cwd=cwd, capture_output=True, text=True,
                              check=False, timeout=seconds_left(), stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            said = (done.stderr.strip() or done.stdout.strip()).splitlines()
            raise Unavailable(f"{failure}: {said[0] if said else 'no reason given'}")
        return done.stdout


def unpack(package, into, seconds_left):
    """Its files, without its scripts."""
    subprocess.run(["dpkg-deb", "-x", str(package), str(into)], check=True, timeout=seconds_left(),
                   stdin=subprocess.DEVNULL)


def debian_mirror():
    """GAR_DEBIAN_MIRROR, else what this host's apt is configured with."""
    if os.environ.get("GAR_DEBIAN_MIRROR"):
        return os.environ["GAR_DEBIAN_MIRROR"]
    found = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Origin: Debian", "Label: Debian"],
        capture_output=True, text=True, check=False)
    mirrors = found.stdout.split()
    if not mirrors:
        raise Unavailable("apt knows no mirror of Debian here; GAR_DEBIAN_MIRROR may name one")
    return mirrors[0]
