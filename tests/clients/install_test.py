"""What is installed can be used, from C, C++, coroutines and Asio: by pkg-config and by CMake's
find_package, under both names. The programs are the examples.
usage: install_test.py BUILD_DIRECTORY SOURCE_DIRECTORY CMAKE"""

import os
import shutil
import subprocess
import sys
import tempfile

CONSUMER = """cmake_minimum_required(VERSION 3.22)
project(consumer LANGUAGES C CXX)
set(CMAKE_CXX_STANDARD 20)
find_package(gar 0.1 REQUIRED)
find_package(garclient REQUIRED)
find_package(Boost REQUIRED)
find_package(Threads REQUIRED)
foreach(name await.c await.cpp await_coroutine.cpp await_asio.cpp)
  add_executable(gar_${{name}} {examples}/${{name}})
  target_link_libraries(gar_${{name}} PRIVATE gar::garclient Boost::headers Threads::Threads)
endforeach()
add_executable(garclient_await.c {examples}/await.c)
target_link_libraries(garclient_await.c PRIVATE garclient::garclient)
"""
BY_CMAKE = ["gar_await.c", "garclient_await.c", "gar_await.cpp", "gar_await_coroutine.cpp",
            "gar_await_asio.cpp"]


def run(*words, **more):
    ended = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           **more)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(words)}: status {ended.returncode}\n{ended.stdout}")
    return ended.stdout


def is_sanitized(build):
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
        return any(line.startswith("GAR_SANITIZE:") and line.strip()[-1] != "=" for line in file)


def by_pkg_config(examples, place, environment):
    flags = run("pkg-config", "--cflags", "--libs", "garclient", env=environment).split()
    for compiler, standard, name in (("cc", "-std=c11", "await.c"),
                                     ("c++", "-std=c++17", "await.cpp"),
                                     ("c++", "-std=c++20", "await_coroutine.cpp")):
        program = os.path.join(place, "by_pkg_config_" + name)
        run(compiler, standard, os.path.join(examples, name), "-o", program, *flags)
        said = run(program, env=environment)
        assert "in-process" in said or "wait 3: " in said, said


def by_cmake(cmake, examples, place, prefix, environment):
    project = os.path.join(place, "consumer")
    os.mkdir(project)
    with open(os.path.join(project, "CMakeLists.txt"), "w", encoding="utf-8") as file:
        file.write(CONSUMER.format(examples=examples))
    made = os.path.join(project, "build")
    run(cmake, "-S", project, "-B", made, f"-DCMAKE_PREFIX_PATH={prefix}")
    run(cmake, "--build", made, "--parallel", "2")
    for program in BY_CMAKE:
        said = run(os.path.join(made, program), env=environment)
        assert "in-process" in said or "wait 3: " in said, said


def main(build, source, cmake):
    if not all(shutil.which(tool) for tool in ("cc", "c++", "pkg-config")):
        print("skipped: no cc, no c++ or no pkg-config")
        return 77
    if is_sanitized(build):
        print("skipped: a library with sanitizers needs a program with them")
        return 77
    examples = os.path.join(os.path.abspath(source), "clients/examples")
    with tempfile.TemporaryDirectory(prefix="gar-install-") as place:
        prefix = os.path.join(place, "usr")
        run(cmake, "--install", build, "--prefix", prefix, "--component", "libgarclient0")
        run(cmake, "--install", build, "--prefix", prefix, "--component", "libgarclient-dev")
        found = [os.path.join(at, "garclient.pc") for at, _, files in os.walk(prefix)
                 if "garclient.pc" in files]
        assert len(found) == 1, found
        environment = dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(found[0]),
                           LD_LIBRARY_PATH=os.path.dirname(os.path.dirname(found[0])),
                           GARD_SOCKET="/nonexistent/gard.sock")
        by_pkg_config(examples, place, environment)
        by_cmake(cmake, examples, place, prefix, environment)
    print("pkg-config and find_package both give programs that run")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
