"""A box: a real systemd as process 1 of namespaces of its own, over the host's /usr and the installed
build. Nothing of it touches the host's own services, and all of it goes with its process 1.

with Box(build, source) as box: box.run("systemctl", "is-active", "gard.socket")
"""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

SYSTEMD = "/usr/lib/systemd/systemd"
NAMESPACES = ["--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup"]
BOOT_S = 60


class Unavailable(Exception):
    """Why this host cannot have a box."""


def cgroup2_root():
    """Where the host's version 2 hierarchy is mounted."""
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        mount, kind = line.split(" - ")
        if kind.split()[0] == "cgroup2" and mount.split()[3] == "/":
            return Path(mount.split()[4])
    raise Unavailable("the root of a version 2 cgroup hierarchy is not mounted here")


def require_a_kernel_that_can(directory):
    """Tries what a box needs, so that a failure afterwards is one."""
    if os.geteuid() != 0:
        raise Unavailable("a box needs root")
    if not os.path.exists(SYSTEMD):
        raise Unavailable(f"{SYSTEMD} is not there: install systemd")
    script = (f"mount --make-rprivate / && mount -t tmpfs t '{directory}' && cd '{directory}' && "
              "mkdir u w m p c && mount -t proc p p && mount -t cgroup2 c c && "
              "mount -t overlay -o lowerdir=/usr,upperdir=u,workdir=w o m")
    tried = subprocess.run(["unshare", *NAMESPACES, "--fork", "sh", "-c", script],
                           capture_output=True, text=True, timeout=20, check=False)
    if tried.returncode != 0:
        raise Unavailable(f"namespaces and mounts are refused: {tried.stderr.strip()}")


class Box:
    def __init__(self, build, source, packages=(), tree=None):
        """With `packages` (files), a Debian system that could install them, and nothing installed. With
        `tree`, the whole system that is there, which the box may write."""
        self.packages = packages
        self.tree = tree
        self.build = Path(build).resolve()
        self.source = Path(source).resolve()
        self.directory = Path(tempfile.mkdtemp(prefix="gard-box-"))
        self.files = self.directory / "files"
        self.console = self.directory / "console"
        self.cgroup = None
        self.starter = None
        self.leader = None

    def __enter__(self):
        try:
            root = self.directory / "root"
            root.mkdir()
            require_a_kernel_that_can(root)
            if self.packages:
                self.offer_packages()
            elif not self.tree:
                self.install()
            self.boot(root)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.leader:
            os.kill(self.leader, 9)  # its whole namespace goes with it
        if self.starter:
            self.starter.wait()
        if self.cgroup:
            self.remove_cgroup()
        shutil.rmtree(self.directory, ignore_errors=True)

    def install(self):
        """What `cmake --install` puts onto a machine."""
        done = subprocess.run(["cmake", "--install", self.build], capture_output=True, text=True,
                              env={**os.environ, "DESTDIR": str(self.files)}, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"cmake --install: {done.stderr}")

    def offer_packages(self):
        """The packages in /packages, and a package database that has the host's own."""
        (self.files / "usr").mkdir(parents=True)
        for folder in ("var/lib/apt/lists/partial", "var/cache/apt/archives/partial", "var/log/apt",
                       "etc/apt/apt.conf.d", "etc/dpkg/dpkg.cfg.d", "packages"):
            (self.files / folder).mkdir(parents=True)
        # Overrides name users and groups of the host, which the box has not.
        shutil.copytree("/var/lib/dpkg", self.files / "var/lib/dpkg", symlinks=True,
                        ignore=shutil.ignore_patterns("statoverride*", "lock*"))
        shutil.copytree("/etc/alternatives", self.files / "etc/alternatives", symlinks=True)
        for package in self.packages:
            shutil.copy(package, self.files / "packages")

    def boot(self, root):
        self.cgroup = cgroup2_root() / self.directory.name
        self.cgroup.mkdir()
        script = Path(__file__).with_name("boot.sh")
        with open(self.console, "wb") as console:
            self.starter = subprocess.Popen(
                ["unshare", *NAMESPACES, "--fork", "--kill-child", "bash", script, root,
                 self.tree or self.files, self.build, self.source, "whole" if self.tree else "over"],
                stdin=subprocess.DEVNULL, stdout=console, stderr=console,
                preexec_fn=lambda: (self.cgroup / "cgroup.procs").write_text(str(os.getpid())))
        end = time.monotonic() + BOOT_S
        while not self.has_booted():
            if self.starter.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the box did not boot:\n{self.console.read_text()}")
            time.sleep(0.05)

    def has_booted(self):
        if not self.leader:
            pid = self.starter.pid
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
            self.leader = int(children[0]) if children else None
        if not self.leader or "systemd" not in os.readlink(f"/proc/{self.leader}/exe"):
            return False
        return self.run("systemctl", "is-system-running").stdout.strip() in ("running", "degraded")

    def run(self, *command, timeout=90, **how):
        """A command in the box; `how` as subprocess.run has it."""
        how = {"capture_output": True, "text": True, **how}
        return subprocess.run(
            ["nsenter", "--target", str(self.leader), "--mount", "--pid", "--uts", "--ipc", "--net",
             "--cgroup", "--root", "--wd", *(str(part) for part in command)],
            timeout=timeout, check=False,
            env={"PATH": "/usr/local/bin:/usr/sbin:/usr/bin", "LANG": "C.UTF-8"}, **how)

    def remove_cgroup(self):
        for _ in range(100):
            for folder, _, _ in os.walk(self.cgroup, topdown=False):
                try:
                    os.rmdir(folder)
                except OSError:
                    pass  # a process in it is not gone yet
            if not self.cgroup.exists():
                return
            time.sleep(0.05)
