"""What the tests share: where the package and the programs are, and a client of a gard."""

import asyncio
import functools
import os
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("GAR_BUILD", ROOT / "build/release"))
sys.path[:0] = [str(ROOT / "clients/python"), str(ROOT / "tests/e2e"), str(ROOT / "tests/python")]

PATIENCE_S = 20


def in_loop(function):
    """A test that is a coroutine; it has a minute, which only a lost wake would reach."""
    @functools.wraps(function)
    def run(*arguments, **named):
        asyncio.run(asyncio.wait_for(function(*arguments, **named), 60))
    return run


async def eventually(condition, what="the condition"):
    end = time.monotonic() + PATIENCE_S
    while True:
        answer = condition()
        if answer:
            return answer
        assert time.monotonic() < end, f"{what} did not come"
        await asyncio.sleep(0.002)


@pytest.fixture(autouse=True)
def no_gard_of_this_machine(monkeypatch):
    monkeypatch.setenv("GARD_SOCKET", "/nonexistent/gard.sock")
    monkeypatch.delenv("GAR_PLAN", raising=False)


@pytest.fixture
def scripted(tmp_path):
    """scripted(plan=..., ...) starts a scripted gard at scripted.path."""
    from scripted_gard import ScriptedGard

    started = []

    def start(**script):
        started.append(ScriptedGard(start.path, **script))
        return started[-1]

    start.path = str(tmp_path / "gard.sock")
    start.connections = lambda: sum(gard.connections for gard in started)
    yield start
    for gard in started:
        gard.die()


@pytest.fixture
def real_gard():
    from gard_process import Gard

    binary = BUILD / "bin/gard"
    if not binary.is_file():
        pytest.skip(f"{binary} is not built")
    with Gard(str(binary)) as gard:
        yield gard
