#!/usr/bin/env python3
"""A device of a program's own: anything that runs work in order and can store 8 bytes behind it.

Here a thread pool of one is the stream. Its own record of what ended is the authority; the word
only wakes whoever waits.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Dict, Optional

import garclient


class PoolOfOne(garclient.Device):
    name = "pool"

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1)
        self._records: Dict[int, "Future[None]"] = {}
        self.ended = 0

    def submit(self, seconds: float) -> None:
        self._pool.submit(self._work, seconds)

    def _work(self, seconds: float) -> None:
        time.sleep(seconds)
        self.ended += 1

    def arm(self, sequence: int, word: garclient.Store, bell: Optional[garclient.Store]) -> None:
        self._records[sequence] = self._pool.submit(self._store, word, bell)

    def query(self, sequence: int) -> bool:
        return self._records[sequence].done()

    def settle(self) -> None:
        self._pool.submit(int).result()

    def close(self) -> None:
        self._pool.shutdown()

    @staticmethod
    def _store(word: garclient.Store, bell: Optional[garclient.Store]) -> None:
        word.word.store(word.value)
        if bell is not None:
            bell.word.store(bell.value)


async def main() -> None:
    async with garclient.connect() as gar:
        device = PoolOfOne()
        stream = gar.stream(device)
        for submitted in range(1, 4):
            device.submit(0.01)
            report = await stream.wait(stream.record())
            assert device.ended == submitted
            print(f"{report.kind_name} after {report.wait_ns // 1000} us ({gar.mode})")


if __name__ == "__main__":
    asyncio.run(main())
