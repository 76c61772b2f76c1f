"""Await GPU work without burning a CPU core on it.

    async with garclient.connect() as gar:
        stream = gar.stream(torch.cuda.current_stream())
        await stream.wait(stream.record())

`connect` gives a `Client`, that a `Stream`; a `Report`, with its `Kind`, says how a wait ended.
Every failure is a `GarError` with a number of gard's registry, one class for each in
`garclient.error_numbers`.
"""

from .client import Client, connect
from .device import Device, Store
from .error import GarError, UnknownError
from .error_numbers import *  # noqa: F401,F403
from .error_numbers import BY_NUMBER
from .memory import Page, Word
from .session import Counters
from .stream import Stream
from .wait_driver import Kind, Report

__version__ = "0.1.0"
__all__ = ["BY_NUMBER", "Client", "Counters", "Device", "GarError", "Kind", "Page", "Report",
           "Store", "Stream", "UnknownError", "Word", "connect",
           *(kind.__name__ for kind in BY_NUMBER.values())]
