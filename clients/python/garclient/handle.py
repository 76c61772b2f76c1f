"""What a program hands over as a stream: a number, a framework's object, a device of its own.

    an integer            a CUstream, cudaStream_t or hipStream_t; 0, 1 and 2 mean what they mean to
                          the driver
    __cuda_stream__       the protocol of CUDA's Python libraries: (version, handle)
    cuda_stream           torch.cuda.Stream, also on ROCm
    ptr                   cupy.cuda.Stream
    handle                pycuda, numba, hip-python

Errors: InvalidArgument for anything else.
"""

from __future__ import annotations

from typing import Any, Optional

from .device import Device
from .driver import driver_device, vendor_of_process
from .error_numbers import InvalidArgument

_ATTRIBUTES = ("cuda_stream", "ptr", "handle")


def device_of(given: Any, vendor: Optional[str]) -> Device:
    if isinstance(given, Device):
        return given
    if vendor not in (None, "cuda", "hip"):
        raise InvalidArgument("vendor", "expected 'cuda' or 'hip'")
    return driver_device(number_of(given), vendor or vendor_of_process())


def number_of(given: Any) -> int:
    """The handle's number."""
    number = _number(given)
    if number is None:
        number = _number(_attribute_of(given))
    if number is None or not 0 <= number < 1 << 64:
        raise InvalidArgument("handle", "expected an integer, or an object with __cuda_stream__, "
                              + ", ".join(_ATTRIBUTES))
    return number


def _attribute_of(given: Any) -> Any:
    protocol = getattr(given, "__cuda_stream__", None)
    if protocol is not None:
        pair = protocol() if callable(protocol) else protocol
        if isinstance(pair, tuple) and len(pair) == 2:
            return pair[1]
    for name in _ATTRIBUTES:
        if hasattr(given, name):
            return getattr(given, name)
    return None


def _number(given: Any) -> Optional[int]:
    if isinstance(given, bool):
        return None
    if isinstance(given, int):
        return given
    value = getattr(given, "value", given)  # ctypes' c_void_p, whose 0 is None
    if value is None and value is not given:
        return 0
    if isinstance(value, int):
        return value
    if hasattr(type(value), "__int__") and not isinstance(value, (str, bytes, float)):
        return int(value)
    return None
