"""Another project takes gard's library into its own build, by FetchContent or by add_subdirectory:
it has the target, and neither gard's programs, tests, bench nor install rules. Its own source is
compiled; with `--whole` it is linked and run, for which the library is built from scratch: minutes.
usage: subproject_test.py fetch|add SOURCE_DIRECTORY CMAKE [--whole]"""

import os
import subprocess
import sys
import tempfile

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
        sys.exit(f"{' '.join(words)}: status {ended.returncode}\n{ended.stdout}")
    return ended.stdout


def main(way, source, cmake, whole=""):
    source = os.path.abspath(source)
    take = FETCHED if way == "fetch" else ADDED.format(source=source)
    with tempfile.TemporaryDirectory(prefix="gar-subproject-") as place:
        with open(os.path.join(place, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write(CONSUMER.format(
                take=take, example=os.path.join(source, "clients/examples/await.cpp")))
        made, prefix = os.path.join(place, "build"), os.path.join(place, "usr")
        run(cmake, "-G", "Ninja", "-S", place, "-B", made, f"-DFETCHCONTENT_SOURCE_DIR_GAR={source}")
        listed = run("ctest", "-N", cwd=made)
        assert "Total Tests: 1\n" in listed, listed
        run(cmake, "--install", made, "--prefix", prefix)
        installed = [os.path.join(at, name) for at, _, names in os.walk(prefix) for name in names]
        assert installed == [os.path.join(prefix, "share/consumer/CMakeLists.txt")], installed
        run(cmake, "--build", made, "--target", "compiled")
        if whole:
            run(cmake, "--build", made, "--target", "consumer", "--parallel", "2")
            said = run(os.path.join(made, "consumer"),
                       env=dict(os.environ, GARD_SOCKET="/nonexistent/gard.sock"))
            assert "wait 3: " in said, said
            print("the program runs")
    print(f"{way}: gard's own parts stay out of another project")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
