"""Every snippet of a document is run, compiled or read; a command that a test cannot run is held to
what there is: its verb, its commands, its options, its targets, its labels. What is only named has
its reason in a table here.
usage: snippets_test.py BUILD_DIRECTORY CMAKE"""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from c_program import Compiler, need_compiler
from document import Document, documents
from help_test import OPTION, help_of, subcommands
from page import SOURCE, Skip, quiet_environment, run_checks

sys.path.insert(0, str(SOURCE / "tests/e2e"))
from gard_process import Gard  # noqa: E402

OURS = ("gard", "garctl", "gar-demo", "gar-bench")
CHECKED = ("./dev", "ctest", "cmake", *OURS)
# Programs that are named only, and why they are not run.
NAMED = {
    "apt": "it changes the machine; ./dev package --try installs in a box",
    "apt-get": "it changes the machine; ./dev package --try does it in a box",
    "c++": "clients/examples builds and runs these files, which must be there",
    "cc": "clients/examples builds and runs these files, which must be there",
    "journalctl": "it needs systemd; tests/systemd reads the journal in a box",
    "kubectl": "it needs a cluster; tests/e2e/manifests.py runs what the manifests say",
    "nvcc": "it needs CUDA's compiler; clients/examples uses it where it is",
    "pip": "tests/python/package_test.py installs the package",
    "python3": "tests/python runs examples and bench; ./dev package --try what is installed",
    "podman": "it needs a container engine; tests/e2e/containers.py makes the namespaces",
    "systemctl": "it needs systemd; tests/systemd does these in a box",
    "systemd-sysusers": "it changes the machine; tests/systemd does it in a box",
    "systemd-tmpfiles": "it changes the machine; tests/systemd does it in a box",
}
# Questions that are asked of a running gard as they stand.
ASKED = re.compile(r"garctl (--json )?(status|caps|clients|streams|points|version|plan show)")
# What a fragment leaves to the program around it. An inner block, so that it may declare them itself.
AROUND_C = """#include <gar.h>
extern gar_vulkan_queue queue;
void shown(gar_client* client, void* stream, gar_stream* opened);
void shown(gar_client* client, void* stream, gar_stream* opened) {{
  (void)client, (void)stream, (void)opened;
  {{
{text}  }}
}}
"""
AROUND_CPP = """struct task {{
  struct promise_type {{
    task get_return_object() {{ return {{}}; }}
    std::suspend_never initial_suspend() {{ return {{}}; }}
    std::suspend_never final_suspend() noexcept {{ return {{}}; }}
    void return_void() {{}}
    void unhandled_exception() {{}}
  }};
}};
{of} shown{number}(gar::stream& stream, void* cuda_stream{also}) {{
  (void)stream, (void)cuda_stream;
  {{
{text}  }}
}}
"""


def fragments(text):
    """Parts that a blank line separates stand for themselves."""
    return [part + "\n" for part in re.split(r"\n\s*\n", text.strip("\n"))]


def all_documents():
    return [Document(name) for name in documents()]


def c_compiles(text, build):
    whole = text if "int main" in text else AROUND_C.format(text=text)
    with tempfile.TemporaryDirectory(prefix="gar-snippet-") as place:
        source = Path(place) / "snippet.c"
        source.write_text(whole, encoding="utf-8")
        includes = [f"-I{each}" for each in Compiler(build).includes]
        ended = subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", *includes, "-fsyntax-only",
                                source], check=False, capture_output=True, text=True)
    return "" if ended.returncode == 0 else ended.stderr


def cpp_compiles(text, build):
    headers = sorted((SOURCE / "clients/garclient").glob("gar*.hpp"))
    named = [each.name for each in headers if each.name == "gar.hpp" or each.name in text]
    whole = "#include <chrono>\n#include <coroutine>\n" + "".join(
        f"#include <{name}>\n" for name in named)
    asio = "asio" in text
    whole += "#include <boost/asio.hpp>\n" if asio else ""
    for number, part in enumerate(fragments(text)):
        waits_by_asio = "co_await" in part and "asio" in part
        whole += "namespace {\n" + AROUND_CPP.format(
            of="boost::asio::awaitable<void>" if waits_by_asio else
            "task" if "co_await" in part else "void", number=number, text=part,
            also=", boost::asio::io_context& io" if asio else "").replace(
                "struct task", f"struct task{number}").replace("task get", f"task{number} get").replace(
                    "\ntask shown", f"\ntask{number} shown") + "}\n"
    with tempfile.TemporaryDirectory(prefix="gar-snippet-") as place:
        source = Path(place) / "snippet.cpp"
        source.write_text(whole, encoding="utf-8")
        includes = [f"-I{each}" for each in Compiler(build).includes]
        ended = subprocess.run(["c++", "-std=c++20", *includes, "-fsyntax-only", source],
                               check=False, capture_output=True, text=True)
    return "" if ended.returncode == 0 else ended.stderr


def python_runs(text, build, node):
    """A fragment that awaits, with a software stream in the place of PyTorch's."""
    if "await" not in text and "async" not in text:
        ast.parse(text)
        return ""
    around = ("import asyncio, types, garclient\nfrom software_device import SoftwareDevice\n"
              "device = SoftwareDevice()\ndevice.submit(0.01)\n"
              "torch = types.SimpleNamespace(cuda=types.SimpleNamespace("
              "current_stream=lambda: device))\n"
              "async def shown():\n" + textwrap.indent(text, "    ") + "asyncio.run(shown())\n")
    places = f"{SOURCE}/clients/python:{SOURCE}/tests/python"
    ended = subprocess.run([sys.executable, "-B", "-c", around], check=False, timeout=60,
                           capture_output=True, text=True,
                           env=quiet_environment(PYTHONPATH=places, GARD_SOCKET=node.socket,
                                                 LD_LIBRARY_PATH=f"{build}/lib"))
    return "" if ended.returncode == 0 else ended.stderr


class Commands:
    """What there is for a command to name."""

    def __init__(self, build, cmake):
        self.build, self.helps = build, {}
        self.dev_usage = subprocess.run([SOURCE / "dev", "help"], check=True, text=True,
                                        capture_output=True).stdout
        presets = json.loads((SOURCE / "CMakePresets.json").read_text(encoding="utf-8"))
        self.presets = {each["name"] for each in presets["configurePresets"]}
        self.targets = subprocess.run([cmake, "--build", build, "--target", "help"], check=True,
                                      text=True, capture_output=True).stdout
        # As they are written: ctest knows those of a program's cases only once it was built.
        self.labels = {word for path in SOURCE.glob("*/**/CMakeLists.txt")
                       for words in re.findall(r'LABELS "?([\w ]+)', path.read_text(encoding="utf-8"))
                       for word in words.split()}

    def help(self, *command):
        if command not in self.helps:
            self.helps[command] = help_of(*command)
        return self.helps[command]

    def faults(self, command, document):
        # What a person is to choose or to fill in.
        plain = re.sub(r"[\[\]{}]|\.\.\.", " ", command).replace("|", " ").split()
        program = Path(plain[0]).name if "build/" in plain[0] else plain[0]
        if program == "./dev":
            yield from self._dev(plain)
        elif program in OURS:
            yield from self._ours(program, plain[1:])
        elif program == "ctest":
            for label in re.findall(r"-L (\S+)", command):
                if label != "LABEL" and label not in self.labels:
                    yield f"no test has the label {label}"
            yield from self._presets(command)
        elif program == "cmake":
            yield from self._presets(command)
            for names in re.findall(r"--target ((?:[a-z][\w-]*(?:\s|$))+)", command):
                for name in names.split():
                    if not re.search(rf"^{re.escape(name)}:", self.targets, re.M):
                        yield f"there is no target {name}"
        elif program in ("cc", "c++", "nvcc"):
            for name in re.findall(r"[\w/]+\.(?:c|cpp|cu)\b", command):
                if not (SOURCE / document).parent.joinpath(name).exists():
                    yield f"{name} is not there"
        elif program not in NAMED and program not in ("export", "./a.out"):
            yield "says how by no test: let it be run, or say in this file why not"

    def _presets(self, command):
        for name in re.findall(r"--preset (\S+)", command):
            if name not in self.presets:
                yield f"there is no preset {name}"

    def _dev(self, words):
        verb = words[1] if len(words) > 1 else ""
        if verb and not re.search(rf"^  {re.escape(verb)}\b", self.dev_usage, re.M):
            yield f"./dev has no verb {verb}"
        for option in words[2:]:
            if option.startswith("--") and option not in self.dev_usage:
                yield f"./dev's usage has no {option}"

    def _ours(self, program, words):
        path = self.build / "bin" / program
        known, command, complete = set(OPTION.findall(self.help(path))), [], False
        for word in words:
            expected = self._commands(program, command)
            if word in expected:
                command.append(word)
                known |= set(OPTION.findall(self.help(path, *command)))
                if not self._commands(program, command):
                    command.pop()  # another may be named beside it: show|check
                    complete = True
            elif word.startswith("--"):
                if word not in known:
                    yield f"{program} has no {word}"
            elif program in ("garctl", "gar-bench") and re.fullmatch(r"[a-z]+", word) and not complete:
                if word not in self.help(path).split():  # a case of gar-bench
                    yield f"{program} has no command {word}"

    def _commands(self, program, before):
        text = self.help(self.build / "bin" / program, *before)
        named = re.findall(r"^  gar-bench ([a-z]+)", text, re.M) if not before else []
        return subcommands(text) + named


def separate(line):
    return [part.strip() for part in line.split(" && ")]


def main(build, cmake):
    build = Path(build).resolve()

    def fragments_in_c_compile():
        need_compiler()
        for document in all_documents():
            for text in document.fenced("c"):
                if fault := c_compiles(text, build):
                    yield f"{document.name}: {fault}"

    def fragments_in_cpp_compile():
        if not shutil.which("c++"):
            raise Skip("c++ is not installed")
        for document in all_documents():
            for text in document.fenced("cpp"):
                if fault := cpp_compiles(text, build):
                    yield f"{document.name}: {fault}"

    def fragments_in_python_run():
        with Gard(build / "bin/gard") as node:
            for document in all_documents():
                indented = [text for text in document.indented() if text.startswith("async ")]
                for text in document.fenced("python") + indented:
                    if fault := python_runs(text, build, node):
                        yield f"{document.name}: {fault}"

    def configurations_are_read():
        for document in all_documents():
            for text in document.fenced("toml"):
                with tempfile.TemporaryDirectory(prefix="gar-snippet-") as place:
                    file = Path(place) / "gard.toml"
                    file.write_text(text, encoding="utf-8")
                    ended = subprocess.run([build / "bin/gard", "--check-config", "--config", file],
                                           check=False, capture_output=True, text=True, timeout=60)
                    if ended.returncode != 0:
                        yield f"{document.name}: {ended.stderr}"

    def commands_name_what_there_is():
        there = Commands(build, cmake)
        for document in all_documents():
            lines = [*document.script_commands(),
                     *document.mentioned_commands([*CHECKED, *NAMED])]
            for command in sorted({part for line in lines for part in separate(line)}):
                for fault in there.faults(command, document.name):
                    yield f"{document.name}: `{command}`: {fault}"

    def questions_are_answered():
        with Gard(build / "bin/gard") as node:
            environment = quiet_environment(GARD_SOCKET=node.socket, GARD_CONTROL=node.control,
                                            PATH=f"{build}/bin:{os.environ['PATH']}")
            asked = {command for document in all_documents()
                     for command in document.mentioned_commands(["garctl"])
                     if ASKED.fullmatch(command)}
            for command in sorted(asked):
                ended = subprocess.run(command.split(), check=False, timeout=60, env=environment,
                                       capture_output=True, text=True)
                if ended.returncode != 0 or not ended.stdout:
                    yield f"`{command}`: status {ended.returncode}: {ended.stderr}"

    def a_program_is_installed_for_and_compiled_as_the_readme_says():
        need_compiler()
        if not shutil.which("pkg-config"):
            raise Skip("pkg-config is not installed")
        text = next(text for text in Document("README.md").fenced("sh") if "pkg-config" in text)
        # What is built is built; everything else is run as it stands, and its gard ended.
        script = re.sub(r"^cmake --preset .*\n", "", text, flags=re.M)
        script = "trap 'kill %1; wait' EXIT\n" + script.replace("build/release", str(build))
        with tempfile.TemporaryDirectory(prefix="gar-install-") as home:
            (Path(home) / "clients").symlink_to(SOURCE / "clients")
            sockets = {"GARD_SOCKET": f"{home}/gard.sock", "GARD_CONTROL": f"{home}/control.sock"}
            ended = subprocess.run(["bash", "-euo", "pipefail", "-c", script],
                                   check=False, capture_output=True, text=True, cwd=home,
                                   timeout=120, env=quiet_environment(HOME=home, **sockets))
            if ended.returncode != 0 or "with gard" not in ended.stdout:
                yield f"status {ended.returncode}: {ended.stdout[-300:]}{ended.stderr}"

    return run_checks(fragments_in_c_compile, fragments_in_cpp_compile, fragments_in_python_run,
                      configurations_are_read, commands_name_what_there_is, questions_are_answered,
                      a_program_is_installed_for_and_compiled_as_the_readme_says)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
