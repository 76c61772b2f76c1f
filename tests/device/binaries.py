"""What is run: the release binaries as they were built here, else built from source, else why not."""

import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

from child import end

NEEDED = ("gard", "garctl", "gar-demo", "device-check")
FAKE_DRIVER = "tests/fake/libcuda.so.1"
BUILD_BOUND_S = 1800


class Missing(Exception):
    """Why there is nothing to run."""


def output(command, environment=None, timeout_s=20):
    """(status, what it printed) of a command that ends soon."""
    try:
        done = subprocess.run([str(word) for word in command], env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              timeout=timeout_s)
    except (OSError, subprocess.TimeoutExpired) as why:
        return -1, str(why)
    return done.returncode, done.stdout.strip()


def build_step(command, folder):
    """Why it failed, or None. A person who waits for it sees what it prints."""
    said = []
    with subprocess.Popen([str(word) for word in command], cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          start_new_session=True) as process:
        bound = threading.Timer(BUILD_BOUND_S, end, [process])
        bound.start()
        try:
            for line in process.stdout:
                print(line, end="", file=sys.stderr, flush=True)
                said.append(line.strip())
        finally:
            timed_out = not bound.is_alive()
            bound.cancel()
            if sys.exc_info()[0]:
                end(process)
    if timed_out:
        return f"it takes longer than {BUILD_BOUND_S} s (once more goes on where it ended)"
    if process.returncode == 0:
        return None
    return next((line for line in said if "rror" in line), said[-1] if said else "it says nothing")


class Binaries:
    """The programs of one build folder, and the environment they run in."""

    def __init__(self, root, build, fake):
        self.root = root
        self.build = Path(build).resolve()
        self.fake = fake
        self.environment = self.make_environment(fake)
        why = self.why_not()
        if why:
            self.make(why)

    # The build folder may have been carried here from elsewhere.
    def make_environment(self, fake):
        environment = dict(os.environ)
        for name in ("GARD_SOCKET", "GARD_CONTROL", "GAR_PLAN", "NOTIFY_SOCKET"):
            environment.pop(name, None)
        folders = [self.build / "lib"]
        if fake:
            folders.insert(0, self.build / "tests/fake")
        before = environment.get("LD_LIBRARY_PATH")
        environment["LD_LIBRARY_PATH"] = ":".join(map(str, folders)) + (
            ":" + before if before else "")
        return environment

    def path(self, name):
        return self.build / "bin" / name

    def why_not(self):
        """Why the check's own program or the fake driver is of no use; a part says it of others."""
        if not self.path("device-check").exists():
            return f"{self.path('device-check')} is not there"
        if self.fake and not (self.build / FAKE_DRIVER).exists():
            return f"{self.build / FAKE_DRIVER} is not there"
        status, said = output([self.path("device-check"), "build"], self.environment)
        return None if status == 0 else f"{self.path('device-check')} does not run: {said}"

    def make(self, because):
        for tool in ("cmake", "ninja", "c++"):
            if not shutil.which(tool):
                raise Missing(f"{because}; and it cannot be built here: {tool} is missing")
        print(f"{because}: building it", file=sys.stderr, flush=True)
        build = ["cmake", "-S", self.root, "--preset", "release", "-B", self.build]
        make = ["cmake", "--build", self.build, "--target", *NEEDED, "garclient"]
        if self.fake:
            make.append("fake_cuda")
        for command in (build, make):
            why = build_step(command, self.root)
            if why:
                raise Missing(f"{because}; and it cannot be built here: {why}")
        why = self.why_not()
        if why:
            raise Missing(why)

    def commit(self):
        status, said = output([self.path("device-check"), "build"], self.environment)
        return json.loads(said)["commit"] if status == 0 else "unknown"


def bundle(binaries, into):
    """Copies what a bare machine lacks; not the C library, which must be that machine's own."""
    for folder in ("bin", "lib"):
        (into / folder).mkdir(parents=True, exist_ok=True)
    for name in NEEDED:
        if not binaries.path(name).exists():
            continue
        shutil.copy2(binaries.path(name), into / "bin")
        _, listed = output(["ldd", binaries.path(name)], binaries.environment)
        for line in listed.splitlines():
            words = line.split()
            if "=>" not in words or not words[2].startswith("/"):
                continue
            of_the_system = words[0].startswith(("libc.", "libm.", "libcuda", "ld-linux"))
            if not of_the_system:
                shutil.copy2(os.path.realpath(words[2]), into / "lib" / words[0])
    if shutil.which("strip"):
        output(["strip", "--strip-debug", *(into / "bin").iterdir(),
                into / "lib" / "libgarclient.so.0"])
