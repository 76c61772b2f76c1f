#!/usr/bin/env python3
"""The least there is: work on a GPU's stream, and an await for its end.

usage: await_stream.py [cuda|hip]. Exit status 77: there is no device, and why.
With PyTorch or CuPy the stream is theirs; here the driver is asked for one through ctypes.
"""

from __future__ import annotations

import asyncio
import ctypes
import sys
from typing import Callable, Tuple

import garclient

FILLED_BYTES = 16 << 20


async def await_stream(stream_of_framework: object, submit: Callable[[], None]) -> None:
    async with garclient.connect() as gar:
        stream = gar.stream(stream_of_framework)
        submit()
        report = await stream.wait(stream.record(), timeout=30)
        print(f"{report.kind_name} after {report.wait_ns // 1000} us ({gar.mode})")


def driver_stream(vendor: str) -> Tuple[int, Callable[[], None]]:
    """A stream's number, and what puts work on it."""
    library = load(["libcuda.so.1"] if vendor == "cuda" else
                   [f"libamdhip64.so.{major}" for major in (7, 6, 5)])

    def call(name: str, *arguments: object) -> None:
        status = getattr(library, name)(*arguments)
        if status != 0:
            skip(f"{name} answered {status}")

    stream, memory = ctypes.c_void_p(), ctypes.c_void_p()
    filled = ctypes.c_size_t(FILLED_BYTES)
    words = ctypes.c_size_t(FILLED_BYTES // 4)
    if vendor == "cuda":
        context = ctypes.c_void_p()
        call("cuInit", 0)
        call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        call("cuCtxSetCurrent", context)
        call("cuStreamCreate", ctypes.byref(stream), 1)
        call("cuMemAlloc_v2", ctypes.byref(memory), filled)
    else:
        call("hipInit", 0)
        call("hipStreamCreateWithFlags", ctypes.byref(stream), 1)
        call("hipMalloc", ctypes.byref(memory), filled)
    fill = "cuMemsetD32Async" if vendor == "cuda" else "hipMemsetD32Async"
    return stream.value or 0, lambda: call(fill, memory, 0x2A2A2A2A, words, stream)


def load(names: list[str]) -> ctypes.CDLL:
    why = ""
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            why = str(error)
    skip(why)
    raise AssertionError


def skip(why: str) -> None:
    print(f"skipped: {why}")
    sys.exit(77)


if __name__ == "__main__":
    number, submit_work = driver_stream(sys.argv[1] if len(sys.argv) > 1 else "cuda")
    asyncio.run(await_stream(number, submit_work))
