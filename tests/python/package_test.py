"""What a user of the package reads and does: its examples, README's lines, installing it."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
import textwrap
import types

import pytest
from conftest import BUILD, ROOT, in_loop

import garclient

PACKAGE = ROOT / "clients/python"
EXAMPLES = PACKAGE / "examples"


def run(arguments, **environment):
    clean = dict(os.environ, PYTHONPATH=str(PACKAGE), PYTHONDONTWRITEBYTECODE="1", **environment)
    return subprocess.run(arguments, env=clean, text=True, capture_output=True, timeout=120)


def cuda_here(monkeypatch):
    library = BUILD / "lib/libgarclient.so.0"
    fake = BUILD / "tests/fake/libcuda.so.1"
    for needed in (library, fake):
        if not needed.exists():
            pytest.skip(f"{needed} is not built")
    monkeypatch.setenv("GARCLIENT_LIBRARY", str(library))
    return fake


@pytest.mark.parametrize("name", ["many_at_once", "own_device"])
def test_an_example_runs_with_and_without_gard(name, real_gard):
    for socket, mode in ((real_gard.socket, "daemon"), ("/nonexistent/gard.sock", "in-process")):
        ended = run([sys.executable, EXAMPLES / f"{name}.py"], GARD_SOCKET=socket)
        assert ended.returncode == 0, ended.stderr
        assert mode in ended.stdout


@pytest.mark.parametrize("vendor, file", [("cuda", "libcuda.so.1"), ("hip", "libamdhip64.so.6")])
def test_the_least_example_awaits_a_drivers_stream(vendor, file, monkeypatch, real_gard):
    fake = cuda_here(monkeypatch).parent
    if not (fake / file).exists():
        pytest.skip(f"{file} is not built")
    ended = run([sys.executable, EXAMPLES / "await_stream.py", vendor],
                GARD_SOCKET=real_gard.socket, LD_LIBRARY_PATH=str(fake))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "(daemon)" in ended.stdout


def snippets(path, fence):
    return re.findall(fence, path.read_text(), re.S | re.M)


@pytest.mark.parametrize("path, fence", [
    (ROOT / "README.md", r"^```python\n(.*?)^```"),
    (PACKAGE / "README.md", r"\n\n((?:    [^\n]*\n)+)\n`pip install"),
    (PACKAGE / "garclient/__init__.py", r"\n\n((?:    [^\n]*\n)+)\n`connect`"),
    (PACKAGE / "garclient/client.py", r"\n\n((?:    [^\n]*\n)+)\nA client belongs")],
    ids=lambda value: getattr(value, "name", ""))
@in_loop
async def test_the_lines_in_a_document_run(path, fence, monkeypatch):
    from drivers_test import FakeDriver

    cuda_here(monkeypatch)
    driver = FakeDriver("cuda")
    handle = driver.make_stream()
    stream = types.SimpleNamespace(cuda_stream=handle)
    torch = types.SimpleNamespace(cuda=types.SimpleNamespace(current_stream=lambda: stream))
    found = snippets(path, fence)
    assert len(found) == 1
    driver.submit(handle, 5_000_000, 42)
    lines = textwrap.indent(textwrap.dedent(found[0]), "    ")
    scope = {"torch": torch, "garclient": garclient}
    exec(f"async def shown():\n{lines}", scope)
    await scope["shown"]()
    assert driver.truth.value == 42


@pytest.mark.parametrize("kind, names", [
    (garclient.Client, "close counters mode rows status stream word_stream"),
    (garclient.Stream, "close query record signal wait wait_sync warning word"),
    (garclient.Word, "index load offset_bytes page store"),
    (garclient.Counters, "delegated early_words in_process limit_refused owner_backstops reconnects "
                         "waits"),
    (garclient.Report, "backstop_queries delegated early_words in_process kind kind_name parks "
                       "slept_ns wait_ns")], ids=str)
def test_help_shows_what_programs_call_and_says_what_it_does(kind, names):
    shown = [name for name in dir(kind) if not name.startswith("_")]
    assert shown == names.split()
    assert "(" not in kind.__doc__.split("\n")[0]  # not what dataclasses write by themselves
    told = (int, bool, types.MemberDescriptorType, garclient.Kind)
    for name in shown:
        member = getattr(kind, name)
        assert isinstance(member, told) or member.__doc__, name


def test_nothing_that_an_object_of_a_program_has_is_public_unless_it_is_told():
    async def main():
        async with garclient.connect(in_process=True) as gar:
            assert [name for name in vars(gar) if not name.startswith("_")] == []
            shown = [name for name in vars(gar.word_stream()) if not name.startswith("_")]
            assert shown == ["name"]

    asyncio.run(main())


def test_pip_installs_it_and_it_is_typed(tmp_path):
    made = run([sys.executable, "-m", "venv", "--system-site-packages", tmp_path / "venv"])
    if made.returncode != 0:
        pytest.skip("no venv here (Debian: python3-venv)")
    source = tmp_path / "source"
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    python = tmp_path / "venv/bin/python"
    installed = run([python, "-m", "pip", "install", "--no-index", "--no-build-isolation",
                     "--no-deps", "--quiet", source])
    if "setuptools" in installed.stderr and "No module" in installed.stderr:
        pytest.skip("no setuptools here (Debian: python3-setuptools, python3-wheel)")
    assert installed.returncode == 0, installed.stderr
    shown = subprocess.run([python, "-I", "-c", "import garclient; print(garclient.__file__)"],
                           text=True, capture_output=True, check=True).stdout.strip()
    assert shown.startswith(str(tmp_path / "venv"))
    assert os.path.exists(os.path.join(os.path.dirname(shown), "py.typed"))
    ended = subprocess.run([python, EXAMPLES / "own_device.py"], text=True, capture_output=True,
                           env=dict(os.environ, GARD_SOCKET="/nonexistent/gard.sock"))
    assert ended.returncode == 0, ended.stderr


def test_cmake_installs_it_beside_the_library_that_it_finds(tmp_path):
    cmake = shutil.which("cmake")
    if not cmake or not (BUILD / "cmake_install.cmake").exists():
        pytest.skip("no cmake, or nothing to install")
    if not (BUILD / "lib/libgarclient.so.0").exists():
        pytest.skip("libgarclient is not built")
    for component in ("python3-garclient", "libgarclient0"):
        subprocess.run([cmake, "--install", str(BUILD), "--prefix", str(tmp_path), "--component",
                        component], check=True, capture_output=True)
    at = tmp_path / "lib/python3/dist-packages"
    program = ("import garclient.driver as d, os\n"
               "d._load()\n"
               "print(any('%s/' in line for line in open('/proc/self/maps')))\n" % (tmp_path / "lib"))
    ended = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True,
                           env={"PYTHONPATH": str(at), "PYTHONDONTWRITEBYTECODE": "1"})
    assert ended.stdout.strip() == "True", ended.stderr
    assert not list(at.rglob("__pycache__"))


def test_the_bench_runs_at_a_small_size():
    binary = BUILD / "bin/gard"
    if not binary.exists():
        pytest.skip(f"{binary} is not built")
    ended = run([sys.executable, PACKAGE / "bench/concurrent_awaits.py", binary, "--waits", "20",
                 "--rounds", "1", "--span-ms", "20"])
    assert ended.returncode == 0, ended.stderr
    assert "await" in ended.stdout and "executor" in ended.stdout


def test_every_oldest_python_that_is_here_can_import_it():
    found = [path for path in map(shutil.which, ("python3.9", "python3.10", "python3.12")) if path]
    for python in found:
        ended = run([python, EXAMPLES / "many_at_once.py"], GARD_SOCKET="/nonexistent/gard.sock")
        assert ended.returncode == 0 or "pyenv" in ended.stderr, ended.stderr
    if not found:
        pytest.skip("this machine has one Python")
