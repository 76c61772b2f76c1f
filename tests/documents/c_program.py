"""A C program against gar.h and libgarclient, as a program's author compiles it."""

import os
import shutil
import subprocess
from pathlib import Path

from page import SOURCE, Skip, quiet_environment

VENDORS = {"cuda.h": "cuda", "vulkan/vulkan.h": "vulkan"}  # a header to its library


class Missing(Exception):
    """A header or a library that this host does not have."""


def need_compiler():
    if not shutil.which("cc"):
        raise Skip("cc is not installed")


def place_of(header):
    """The directory that the system, or CUDA's toolkit, has it in."""
    places = (Path("/usr/include"), Path("/usr/local/cuda/include"))
    return next((place for place in places if (place / header).exists()), None)


class Compiler:
    def __init__(self, build):
        self.build = build
        self.includes = [SOURCE / "clients/garclient", SOURCE / "lib/port", build / "generated"]

    def compile(self, text, program):
        """Raises Missing, or CalledProcessError with what the compiler said."""
        source = Path(f"{program}.c")
        source.write_text(text, encoding="utf-8")
        includes, libraries, vendors = list(self.includes), [self.build / "lib"], []
        for header, library in VENDORS.items():
            if f"<{header}>" not in text:
                continue
            place = place_of(header)
            if header == "cuda.h":  # with the driver's stand-in, so that it runs anywhere
                includes.append(place or SOURCE / "tests/fake")
                libraries.append(self.build / "tests/fake")
                library = ":libcuda.so.1"
            elif not place:
                raise Missing(f"<{header}> is not installed")
            vendors.append(f"-l{library}")
        subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-pthread",
                        *(f"-I{each}" for each in includes), source, "-o", program,
                        *(f"-L{each}" for each in libraries), "-lgarclient", *vendors],
                       check=True, capture_output=True, text=True)

    def environment(self, **more):
        paths = ":".join(str(each) for each in [self.build / "lib", self.build / "tests/fake"])
        return quiet_environment(LD_LIBRARY_PATH=paths, **more)


def run(program, environment):
    return subprocess.run([program], check=False, capture_output=True, text=True, timeout=60,
                          env=environment, cwd=os.path.dirname(program))
