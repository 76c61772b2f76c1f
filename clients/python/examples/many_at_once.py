#!/usr/bin/env python3
"""Many waits in one event loop: gathered, with a timeout, cancelled. Needs no GPU: the producer is a
thread that stores the words."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import List, Tuple

import garclient

STREAMS = 100


def produce(work: List[Tuple[garclient.Stream, int]]) -> None:
    for stream, sequence in work:
        time.sleep(0.0002)
        stream.signal(sequence)


async def main() -> None:
    async with garclient.connect() as gar:
        streams = [gar.word_stream(name=f"lane {i}") for i in range(STREAMS)]
        work = [(stream, stream.record()) for stream in streams]
        producer = threading.Thread(target=produce, args=(work,))
        producer.start()
        await asyncio.gather(*(stream.wait(sequence, point="lanes") for stream, sequence in work))
        producer.join()
        print(f"{gar.counters.waits} waits, {gar.mode}")

        never = streams[0].record()
        try:
            await streams[0].wait(never, timeout=0.01)
        except asyncio.TimeoutError as late:
            print(f"given up: {late}")

        given_up = asyncio.ensure_future(streams[0].wait(never))
        await asyncio.sleep(0.01)
        given_up.cancel()  # and gard forgets it too
        await asyncio.wait([given_up])
        assert given_up.cancelled()
        streams[0].signal(never)


if __name__ == "__main__":
    asyncio.run(main())
