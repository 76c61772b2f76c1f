#!/usr/bin/env python3
"""Hands a stream's number to await_handle.c, as a framework's user would.

usage: await_handle.py LIBRARY cuda|hip. LIBRARY is await_handle.c's, libawait_handle.so. Exit
status 3: usage, 77: there is no device, and why.

A framework would have made the stream; here the driver is asked for one through ctypes. With
PyTorch the whole is (the second argument is the number; the first is 1 for HIP):

    await_handle = ctypes.CDLL("./libawait_handle.so").await_handle
    await_handle.argtypes = [ctypes.c_int, ctypes.c_uint64]
    await_handle(0, torch.cuda.current_stream().cuda_stream)
"""

import ctypes
import sys

FILLED_BYTES = 16 << 20
VALUE = 0x2A2A2A2A


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


class Driver:
    """The few calls of a driver that make a stream and work."""

    def __init__(self, names):
        why = ""
        for name in names:
            try:
                self.library = ctypes.CDLL(name)
                return
            except OSError as error:
                why = str(error)
        skip(why)

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            skip(f"{name} answered {status}")


def cuda_stream():
    """The number of a stream with work on it, and how to ask whether that is done."""
    driver = Driver(["libcuda.so.1"])
    context, stream = ctypes.c_void_p(), ctypes.c_void_p()
    filled = ctypes.c_uint64()
    driver.call("cuInit", 0)
    driver.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    driver.call("cuCtxSetCurrent", context)
    driver.call("cuStreamCreate", ctypes.byref(stream), 1)
    driver.call("cuMemAlloc_v2", ctypes.byref(filled), ctypes.c_size_t(FILLED_BYTES))
    driver.call("cuMemsetD32Async", filled, VALUE, ctypes.c_size_t(FILLED_BYTES // 4), stream)
    return stream.value, lambda: driver.library.cuStreamQuery(stream)


def hip_stream():
    driver = Driver([f"libamdhip64.so.{version}" for version in (7, 6, 5)])
    stream, filled = ctypes.c_void_p(), ctypes.c_void_p()
    driver.call("hipInit", 0)
    driver.call("hipStreamCreateWithFlags", ctypes.byref(stream), 1)
    driver.call("hipMalloc", ctypes.byref(filled), ctypes.c_size_t(FILLED_BYTES))
    driver.call("hipMemsetD32Async", filled, VALUE, ctypes.c_size_t(FILLED_BYTES // 4), stream)
    return stream.value, lambda: driver.library.hipStreamQuery(stream)


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in ("cuda", "hip"):
        print("usage: await_handle.py LIBRARY cuda|hip", file=sys.stderr)
        return 3
    library, vendor = sys.argv[1:]
    number, query = hip_stream() if vendor == "hip" else cuda_stream()
    print(f"the stream's number is {number:#x}", flush=True)
    await_handle = ctypes.CDLL(library).await_handle
    await_handle.argtypes = [ctypes.c_int, ctypes.c_uint64]
    status = await_handle(vendor == "hip", number)
    if status != 0:
        return 1
    return 0 if query() == 0 else 2  # success before the work was done


if __name__ == "__main__":
    sys.exit(main())
