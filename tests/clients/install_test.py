"""What is installed can be used: by pkg-config and by CMake's find_package.
usage: install_test.py BUILD_DIRECTORY SOURCE_DIRECTORY CMAKE"""

import os
import shutil
import subprocess
import sys
import tempfile

CONSUMER = """cmake_minimum_required(VERSION 3.22)
project(consumer LANGUAGES C)
find_package(garclient REQUIRED)
add_executable(consumer {source})
target_link_libraries(consumer PRIVATE garclient::garclient)
"""


def run(*words, **more):
    return subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE, **more).stdout


def main(build, source, cmake):
    compiler = shutil.which("cc")
    if not compiler or not shutil.which("pkg-config"):
        print("skipped: no cc or no pkg-config")
        return 77
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
        if any(line.startswith("GAR_SANITIZE:STRING=") and line.strip()[-1] != "=" for line in file):
            print("skipped: a library with sanitizers needs a program with them")
            return 77
    example = os.path.join(source, "clients/examples/await.c")
    with tempfile.TemporaryDirectory(prefix="gar-install-") as place:
        prefix = os.path.join(place, "usr")
        run(cmake, "--install", build, "--prefix", prefix, "--component", "libgarclient0")
        run(cmake, "--install", build, "--prefix", prefix, "--component", "libgarclient-dev")
        found = [os.path.join(at, "garclient.pc") for at, _, files in os.walk(prefix)
                 if "garclient.pc" in files]
        assert len(found) == 1, found
        libraries = os.path.dirname(os.path.dirname(found[0]))
        environment = dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(found[0]),
                           LD_LIBRARY_PATH=libraries, GARD_SOCKET="/nonexistent/gard.sock")
        flags = run("pkg-config", "--cflags", "--libs", "garclient", env=environment).split()
        program = os.path.join(place, "by_pkg_config")
        run(compiler, "-std=c11", example, "-o", program, *flags)
        assert "in-process" in run(program, env=environment)

        project = os.path.join(place, "consumer")
        os.mkdir(project)
        with open(os.path.join(project, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write(CONSUMER.format(source=example))
        made = os.path.join(project, "build")
        run(cmake, "-S", project, "-B", made, f"-DCMAKE_PREFIX_PATH={prefix}")
        run(cmake, "--build", made)
        assert "in-process" in run(os.path.join(made, "consumer"), env=environment)
    print("pkg-config and find_package both give a program that runs")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
