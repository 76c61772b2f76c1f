"""Another project takes gard's library into its own build, by FetchContent or by add_subdirectory:
it has the target, and neither gard's programs, tests, bench nor install rules. Its own source is
compiled; with `--whole` it is linked and run too, for which the library is built, with what a consumer
gets who asks for nothing else. That takes minutes the first time: DIRECTORY is kept, and what has not
changed is not compiled again.
usage: subproject_test.py fetch|add SOURCE_DIRECTORY CMAKE [--whole DIRECTORY]"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FETCHED = """include(FetchContent)
FetchContent_Declare(gar GIT_REPOSITORY https://gard.invalid/gard.git GIT_TAG main)
FetchContent_MakeAvailable(gar)
"""
ADDED = """add_subdirectory({source} gar)
"""
CONSUMER = """cmake_minimum_required(VERSION 3.22)
project(consumer VERSION 3.1 LANGUAGES C CXX)
enable_testing()
{take}
foreach(what PROGRAMS EXAMPLES BENCH TESTS INSTALL)
  if(GAR_${{what}})
    message(FATAL_ERROR "GAR_${{what}} is on in another project")
  endif()
endforeach()
foreach(program gard garctl gar-demo gar-bench)
  if(TARGET ${{program}})
    message(FATAL_ERROR "${{program}} is made in another project")
  endif()
endforeach()
if(CMAKE_CXX_STANDARD OR CMAKE_CXX_VISIBILITY_PRESET OR CMAKE_RUNTIME_OUTPUT_DIRECTORY)
  message(FATAL_ERROR "a setting of gard's own has leaked")
endif()
add_library(compiled OBJECT {example})
target_link_libraries(compiled PRIVATE gar::garclient)
add_executable(consumer)
target_link_libraries(consumer PRIVATE compiled gar::garclient)
add_test(NAME consumer COMMAND consumer)
install(FILES CMakeLists.txt DESTINATION share/consumer)
"""


def run(*words, **more):
    ended = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           **more)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: status {ended.returncode}\n{ended.stdout}")
    return ended.stdout


def written(path, text):
    """The file with that text, its time as it was where it had it."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def configured(way, source, cmake, place):
    """Gard's own parts stay out of the other project. Its build folder."""
    take = FETCHED if way == "fetch" else ADDED.format(source=source)
    written(place / "CMakeLists.txt",
            CONSUMER.format(take=take, example=source / "clients/examples/await.cpp"))
    made, prefix = place / "build", place / "usr"
    run(cmake, "-G", "Ninja", "-S", place, "-B", made, f"-DFETCHCONTENT_SOURCE_DIR_GAR={source}")
    listed = run("ctest", "-N", cwd=made)
    assert "Total Tests: 1\n" in listed, listed
    shutil.rmtree(prefix, ignore_errors=True)
    run(cmake, "--install", made, "--prefix", prefix)
    installed = [path for path in prefix.rglob("*") if not path.is_dir()]
    assert installed == [prefix / "share/consumer/CMakeLists.txt"], installed
    return made


def linked(cmake, made):
    """The library, and a program that is linked with it and awaits something."""
    said = run(cmake, "--build", made, "--target", "consumer", "--parallel", "2")
    assert "warning:" not in said, said
    said = run(made / "consumer", env={**os.environ, "GARD_SOCKET": "/nonexistent/gard.sock"})
    assert "wait 3: " in said, said
    print("the program is linked and runs")


def main(way, source, cmake, whole="", directory=""):
    source = Path(source).resolve()
    with tempfile.TemporaryDirectory(prefix="gar-subproject-") as place:
        if whole:
            place = directory
            Path(place).mkdir(parents=True, exist_ok=True)
        made = configured(way, source, cmake, Path(place).resolve())
        run(cmake, "--build", made, "--target", "compiled")
        if whole:
            linked(cmake, made)
    print(f"{way}: gard's own parts stay out of another project")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
