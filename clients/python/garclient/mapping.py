"""Pages that devices have been told of: each once per device and page, whatever streams share them.

Threads: the loop's. Errors: those of the device's map.
"""

from __future__ import annotations

from typing import Dict, List, Tuple

from .device import Device
from .error import GarError
from .error_numbers import Backend
from .memory import Page


# Pages that a device may store into. They outlive a client that is dropped without being closed,
# else a store would land in whatever is mapped there next.
_registered: Dict[Tuple[object, int], Page] = {}


class Mappings:
    def __init__(self) -> None:
        self._shares: Dict[Tuple[object, int], int] = {}

    def get_all(self, device: Device, pages: List[Page]) -> None:
        """All of them, or none."""
        got: List[Page] = []
        try:
            for page in pages:
                self._get(device, page)
                got.append(page)
        except GarError:
            for page in got:
                self.give_back(device, page)
            raise

    def _get(self, device: Device, page: Page) -> None:
        key = (device.key, id(page))
        count = self._shares.get(key, 0)
        if count == 0:
            try:
                device.map(page)
            except GarError:
                raise
            except Exception as error:
                raise Backend(f"{device.name}.map", repr(error)) from error
            _registered[key] = page
        self._shares[key] = count + 1

    def give_back(self, device: Device, page: Page) -> None:
        key = (device.key, id(page))
        self._shares[key] -= 1
        if self._shares[key] > 0:
            return
        try:
            device.unmap(page)
        except Exception:  # it may still store there
            self._shares[key] = 1
            return
        del self._shares[key], _registered[key]
