"""A client with a real gard: restarts, plans set while it runs, producers in other processes."""

import asyncio
import signal
import subprocess
import sys
import threading

import pytest
from conftest import eventually, in_loop
from software_device import SoftwareDevice

import garclient


def store(fd, offset, value):
    """As a producer in another process: by the descriptor that it inherited."""
    program = ("import mmap, sys, time\n"
               "fd, offset, value = map(int, sys.argv[1:])\n"
               "words = memoryview(mmap.mmap(fd, 4096)).cast('B').cast('Q')\n"
               "time.sleep(0.02)\n"
               "words[offset // 8] = value\n")
    return subprocess.Popen([sys.executable, "-c", program, str(fd), str(offset), str(value)],
                            pass_fds=[fd])


@in_loop
async def test_another_process_stores_the_word(real_gard):
    async with garclient.connect(real_gard.socket, need_daemon=True) as gar:
        stream = gar.word_stream(name="dpu")
        for _ in range(3):
            number = stream.record()
            producer = store(stream.word.page.fd, stream.word.offset_bytes, number)
            report = await stream.wait(number)
            assert report.delegated and stream.word.load() == number
            assert producer.wait() == 0


@in_loop
async def test_a_thousand_awaits_at_once_each_end_once_and_right(real_gard):
    async with garclient.connect(real_gard.socket, need_daemon=True) as gar:
        streams = [gar.word_stream() for _ in range(1000)]
        numbers = [stream.record() for stream in streams]
        threads = threading.active_count()
        waits = [asyncio.ensure_future(stream.wait(number))
                 for stream, number in zip(streams, numbers)]
        await eventually(lambda: gar.status()["waits"]["pending"] == 1000)
        assert threading.active_count() == threads
        for stream, number in zip(streams[::2], numbers[::2]):
            stream.signal(number)
        for wait in waits[::2]:
            await wait
        assert not any(wait.done() for wait in waits[1::2])
        for stream, number in zip(streams[1::2], numbers[1::2]):
            stream.signal(number)
        reports = await asyncio.gather(*waits)
        # On a machine that starves gard for a tenth of a second the owner ends what gard does not.
        delegated = sum(report.delegated for report in reports)
        assert delegated + gar.counters.owner_backstops == gar.counters.waits == 1000
        counted = gar.status()["waits"]
        assert (counted["pending"], counted["completed"]) == (0, 1000)


@in_loop
async def test_kill_9_and_a_restart_lose_no_wait(real_gard):
    async with garclient.connect(real_gard.socket) as gar:
        device = SoftwareDevice()
        stream = gar.stream(device)
        for round_ in range(3):
            numbers = []
            for _ in range(10):
                device.submit(0.003)
                numbers.append(stream.record())
            waits = [asyncio.ensure_future(stream.wait(number)) for number in numbers]
            await asyncio.sleep(0.005)
            real_gard.process.send_signal(signal.SIGKILL if round_ % 2 == 0 else signal.SIGTERM)
            real_gard.process.wait()
            await asyncio.gather(*waits)
            assert device.truth == device.records
            real_gard.start()
            delegated = False
            while not delegated:
                device.submit(0.003)
                delegated = (await stream.wait(stream.record())).delegated
                assert device.truth == device.records
            assert gar.mode == "daemon"
        assert gar.counters.reconnects == 3


@in_loop
async def test_a_stopped_gard_hangs_nobody(real_gard):
    async with garclient.connect(real_gard.socket) as gar:
        device = SoftwareDevice()
        stream = gar.stream(device)
        device.submit(0.05)
        waiting = asyncio.ensure_future(stream.wait(stream.record()))
        await asyncio.sleep(0.01)
        real_gard.process.send_signal(signal.SIGSTOP)
        try:
            report = await waiting
            assert device.truth == 1 and not report.delegated
            assert gar.mode == "in-process"
            with pytest.raises(garclient.HandshakeTimeout):
                gar.status()
        finally:
            real_gard.process.send_signal(signal.SIGCONT)
        await eventually(lambda: gar.mode == "daemon")


@in_loop
async def test_a_lost_store_is_found_by_gards_probe(real_gard):
    async with garclient.connect(real_gard.socket) as gar:
        device = SoftwareDevice()
        stream = gar.stream(device)
        device.fault("lost")
        device.submit(0.05)
        report = await stream.wait(stream.record())
        assert device.truth == 1 and report.delegated and report.backstop_queries >= 1
        assert gar.counters.owner_backstops == 0


@in_loop
async def test_a_blocked_loop_delays_only_its_own_waits(real_gard):
    async with garclient.connect(real_gard.socket, name="blocked") as blocked:
        device = SoftwareDevice()
        stream = blocked.stream(device)
        device.fault("lost")
        device.submit(0)
        waiting = asyncio.ensure_future(stream.wait(stream.record()))
        await asyncio.sleep(0.005)
        ended = []

        async def other():
            async with garclient.connect(real_gard.socket, name="other") as gar:
                mine = SoftwareDevice()
                theirs = gar.stream(mine)
                for _ in range(5):
                    mine.fault("lost")  # so that every wait needs a probe answered
                    mine.submit(0.05)
                    ended.append((await theirs.wait(theirs.record())).delegated)

        thread = threading.Thread(target=lambda: asyncio.run(other()))
        thread.start()
        thread.join()  # this loop answers nothing meanwhile
        assert ended == [True] * 5
        assert (await waiting).kind_name == "parked" and device.truth == 1


@in_loop
async def test_a_plan_set_at_gard_is_the_next_waits(real_gard):
    async with garclient.connect(real_gard.socket, name="planned") as gar:
        stream = gar.stream(SoftwareDevice())
        for text, kind in (("block", "blocked"), ("poll", "parked")):
            real_gard.result({"op": "plan_set", "text": text, "client": "planned"})
            await eventually(lambda: gar._session.plans.select("", 0).park == text)
            stream._source.device.submit(0.05)
            report = await stream.wait(stream.record())
            assert (report.kind_name, report.delegated) == (kind, False)
        real_gard.result({"op": "plan_set", "text": "poll", "point": "here"})
        await eventually(lambda: gar._session.plans.select("here", 0).park == "poll")
        real_gard.result({"op": "plan_unset", "client": "planned"})
        await eventually(lambda: gar._session.plans.select("", 0).park == "flag")
        await asyncio.sleep(0.15)
        kinds = gar.status()["kinds"]
        assert (kinds["blocked"], kinds["parked"]) == (1, 1)


@in_loop
async def test_predictions_are_learned_here_and_at_gard(real_gard):
    for in_process in (False, True):
        async with garclient.connect(real_gard.socket if not in_process else None,
                                     in_process=in_process) as gar:
            device = SoftwareDevice()
            stream = gar.stream(device)
            slept = 0
            for _ in range(20):
                device.submit(0.01)
                report = await stream.wait(stream.record(), point="epoch")
                slept += report.slept_ns > 0
                assert device.truth == device.records
            assert slept > 0


def test_the_status_is_asked_for_from_any_thread_and_says_who_is_there(real_gard):
    async def main():
        async with garclient.connect(real_gard.socket, name="asker") as gar:
            assert (await asyncio.to_thread(gar.status))["clients"] == 1
            assert gar.status()["version"]
            listed = real_gard.result({"op": "clients"})["clients"]
            assert [(c["name"], c["notification"]) for c in listed] == [("asker", "socket")]
        async with garclient.connect(in_process=True) as gar:
            with pytest.raises(garclient.NotReachable):
                gar.status()

    asyncio.run(main())


@in_loop
async def test_a_client_that_ends_leaves_nothing_at_gard(real_gard):
    async with garclient.connect(real_gard.socket) as gar:
        stream = gar.stream(SoftwareDevice())
        await stream.wait(stream.record())
    await eventually(lambda: real_gard.result({"op": "status"})["clients"] == 0)
    assert real_gard.result({"op": "status"})["waits"]["owner_gone"] == 0


@in_loop
async def test_a_stream_that_is_closed_while_it_is_awaited_leaves_nothing_at_gard(real_gard):
    async with garclient.connect(real_gard.socket, need_daemon=True) as gar:
        stream = gar.word_stream()
        waiting = asyncio.ensure_future(stream.wait(stream.record()))
        await eventually(lambda: gar.status()["waits"]["pending"] == 1, "the wait")
        await stream.close()
        with pytest.raises(garclient.Closed):
            await waiting
        await eventually(lambda: real_gard.result({"op": "streams"})["streams"] == [], "its end")
