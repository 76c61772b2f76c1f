"""CUDA and HIP streams as devices: what needs a GPU's driver, through libgarclient.

The library's own verbs of gar_device.h do it: register a page, record behind a stream's work, ask.
Nothing else of it is used: no client, no thread. It loads the vendor's driver by itself, so that a
machine without one fails only here.

The library is $GARCLIENT_LIBRARY, else the libgarclient.so.0 beside which this package was
installed, else the system's.
Threads: as device.py. Every call lets the interpreter's lock go while it lasts.
Errors: Unavailable, NoDomain, ForeignStream, Capturing, Backend, with the driver's own name for it.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import List, Optional, Tuple

from . import frames, sockets
from .device import Device, Store
from .error import GarError, error_of, error_said
from .error_numbers import Backend, Unavailable
from .memory import Page

SONAME = "libgarclient.so.0"
_DRIVERS = {"cuda": "libcuda.so", "hip": "libamdhip64.so"}
_PENDING, _REFUSED = 0, -2
_FOREVER_NS = (1 << 64) - 1


class _Failure(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int32), ("call", ctypes.c_char * 48),
                ("text", ctypes.c_char * 96)]


class _MappedPage(ctypes.Structure):
    _fields_ = [("host", ctypes.c_void_p), ("bytes", ctypes.c_size_t),
                ("mapping", ctypes.c_void_p)]


class _Store(ctypes.Structure):
    _fields_ = [("page", ctypes.POINTER(_MappedPage)), ("offset_bytes", ctypes.c_size_t),
                ("value", ctypes.c_uint64)]


_ANSWER = ctypes.c_int
_STREAM = ctypes.c_void_p
_FAILS = ctypes.POINTER(_Failure)
_WAIT = ctypes.CFUNCTYPE(_ANSWER, _STREAM, ctypes.c_uint64, ctypes.c_uint64, _FAILS)


class _Ops(ctypes.Structure):
    _fields_ = [
        ("struct_bytes", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("map", ctypes.CFUNCTYPE(_ANSWER, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
                                 ctypes.POINTER(ctypes.c_void_p), _FAILS)),
        ("unmap", ctypes.CFUNCTYPE(_ANSWER, ctypes.c_void_p, ctypes.c_void_p)),
        ("arm", ctypes.CFUNCTYPE(_ANSWER, _STREAM, ctypes.c_uint64, ctypes.POINTER(_Store),
                                 ctypes.POINTER(_Store), _FAILS)),
        ("query", ctypes.CFUNCTYPE(_ANSWER, _STREAM, ctypes.c_uint64, _FAILS)),
        ("block", _WAIT),
        ("poll", _WAIT),
        ("park", ctypes.CFUNCTYPE(_ANSWER, _STREAM, ctypes.c_void_p, ctypes.c_uint64,
                                  ctypes.c_uint64)),
        ("idle", ctypes.CFUNCTYPE(_ANSWER, _STREAM, _FAILS)),
        ("settle", ctypes.CFUNCTYPE(_ANSWER, _STREAM, _FAILS)),
    ]


class _DriverStream(ctypes.Structure):
    _fields_ = [("struct_bytes", ctypes.c_size_t), ("ops", ctypes.POINTER(_Ops)),
                ("device", ctypes.c_void_p), ("stream", ctypes.c_void_p),
                ("no_stores", ctypes.c_char * 256)]


class DriverDevice(Device):
    """One CUDA or HIP stream."""

    def __init__(self, library: ctypes.CDLL, vendor: str, handle: int) -> None:
        self.name = vendor
        self._library = library
        self._opened = _DriverStream(struct_bytes=ctypes.sizeof(_DriverStream))
        opener = getattr(library, f"gar_{vendor}_driver_stream_open")
        if opener(ctypes.c_void_p(handle), ctypes.byref(self._opened)) != 0:
            raise _last_error(library)
        self._ops = self._opened.ops.contents
        self._stream = self._opened.stream
        self.no_stores = self._opened.no_stores.decode("utf-8", "replace")

    @property
    def key(self) -> object:
        return (self.name, self._opened.device)

    def map(self, page: Page) -> None:
        mapping, failure = ctypes.c_void_p(), _Failure()
        host = page.address
        if self._ops.map(self._opened.device, host, page.bytes, ctypes.byref(mapping), failure):
            raise _backend(failure)
        # One page is mapped once for all streams of a context; it carries what they store through.
        page.mapped[self.key] = _MappedPage(host, page.bytes, mapping)

    def unmap(self, page: Page) -> None:
        if self._ops.unmap(self._opened.device, page.mapped[self.key].mapping) != 0:
            raise Backend(f"{self.name}.unmap", "the device may still store there")
        del page.mapped[self.key]

    def arm(self, sequence: int, word: Store, bell: Optional[Store]) -> None:
        failure = _Failure()
        ring = None if bell is None else ctypes.byref(self._store(bell))
        answer = self._ops.arm(self._stream, sequence, self._store(word), ring, failure)
        if answer == _REFUSED:
            raise error_of(failure.status, _text(failure.call), _text(failure.text))
        if answer != 0:
            raise _backend(failure)

    def query(self, sequence: int) -> bool:
        failure = _Failure()
        return _done(self._ops.query(self._stream, sequence, failure), failure)

    def idle(self) -> bool:
        if not self._ops.idle:
            return False
        failure = _Failure()
        return _done(self._ops.idle(self._stream, failure), failure)

    def block(self, sequence: int, timeout_ns: Optional[int]) -> Optional[bool]:
        if not self._ops.block:
            return None
        failure = _Failure()
        limit_ns = _FOREVER_NS if timeout_ns is None else timeout_ns
        return _done(self._ops.block(self._stream, sequence, limit_ns, failure), failure)

    def settle(self) -> None:
        failure = _Failure()
        if self._ops.settle(self._stream, failure) != 0:
            raise _backend(failure)

    def close(self) -> None:
        self._library.gar_driver_stream_close(ctypes.byref(self._opened))

    def _store(self, store: Store) -> _Store:
        mapped = store.word.page.mapped[self.key]
        return _Store(ctypes.pointer(mapped), store.word.offset_bytes, store.value)


def driver_device(handle: int, vendor: str) -> DriverDevice:
    return DriverDevice(_load(), vendor, handle)


def vendor_of_process() -> str:
    """The vendor whose driver this process has loaded; CUDA where that does not decide."""
    loaded = _loaded()
    return "hip" if loaded == ["hip"] else "cuda"


def drivers_here() -> List[frames.Driver]:
    """For the hello: what this process has loaded just now. Loads nothing."""
    loaded = _loaded()
    return [frames.Driver(vendor, int(vendor in loaded),
                          "" if vendor in loaded else f"{name} is not loaded by this process")
            for vendor, name in _DRIVERS.items()]


def _loaded() -> List[str]:
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            maps = file.read()
    except OSError:
        return []
    return [vendor for vendor, name in _DRIVERS.items() if f"/{name}" in maps]


_library: Optional[ctypes.CDLL] = None


def _load() -> ctypes.CDLL:
    global _library
    if _library is None:
        loaded, tried = None, []
        for path in _candidates():
            loaded, why = _try(path)
            if loaded is not None:
                break
            tried.append(why)
        if loaded is None:
            raise Unavailable(SONAME, "; ".join(tried))
        _library = loaded
    return _library


def _candidates() -> List[str]:
    named = sockets.environment("GARCLIENT_LIBRARY")
    if named:
        return [named]
    # PREFIX/lib/python3/dist-packages/garclient -> PREFIX/lib, PREFIX/lib/x86_64-linux-gnu
    lib = Path(__file__).resolve().parents[3]
    beside = [lib / SONAME, *sorted(lib.glob(f"*-linux-gnu*/{SONAME}"))]
    return [str(path) for path in beside if path.exists()] + [SONAME]


def _try(path: str) -> Tuple[Optional[ctypes.CDLL], str]:
    try:
        library = ctypes.CDLL(path)
        for vendor in _DRIVERS:
            opener = getattr(library, f"gar_{vendor}_driver_stream_open")
            opener.argtypes = [ctypes.c_void_p, ctypes.POINTER(_DriverStream)]
        library.gar_driver_stream_close.argtypes = [ctypes.POINTER(_DriverStream)]
        library.gar_driver_stream_close.restype = None
        library.gar_last_error.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    except (OSError, AttributeError) as error:
        return None, str(error)
    return library, ""


def _last_error(library: ctypes.CDLL) -> GarError:
    text = ctypes.create_string_buffer(1024)
    number = library.gar_last_error(text, len(text))
    return error_said(number, text.value.decode("utf-8", "replace"))


def _done(answer: int, failure: _Failure) -> bool:
    if answer < 0:
        raise _backend(failure)
    return answer != _PENDING


def _backend(failure: _Failure) -> Backend:
    status, text = str(failure.status), _text(failure.text)
    if text:
        status += f" ({text})"
    return Backend(_text(failure.call) or "a device call", status, status=failure.status)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
