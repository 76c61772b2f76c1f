"""The end of streams and clients: it is reached once, whoever stops waiting for it."""

import asyncio
import gc
import os
import threading
import weakref

import pytest
from conftest import eventually, in_loop
from software_device import SoftwareDevice

import garclient
from garclient import frames
from garclient.session import Session


class Counted(SoftwareDevice):
    """Counts its ends, which come after its work."""

    def __init__(self):
        super().__init__()
        self.settled = 0
        self.closed = 0

    def settle(self):
        super().settle()
        self.settled += 1

    def close(self):
        assert self.settled == 1 and self.truth == 1
        super().close()
        self.closed += 1


class Busy:
    """A client whose streams have one piece of work each, which lasts until `hold` is set."""

    def __init__(self, streams=1, path=None):
        self.client = garclient.connect(path, in_process=path is None)
        self.hold = threading.Event()
        self.devices = [Counted() for _ in range(streams)]
        self.streams = []

    async def __aenter__(self):
        await self.client.__aenter__()
        for device in self.devices:
            self.streams.append(self.client.stream(device))
            device.submit(0, self.hold)
            self.streams[-1].record()
        return self

    async def __aexit__(self, *error):
        await self.client.__aexit__(*error)

    @property
    def ends(self):
        return [(device.settled, device.closed) for device in self.devices]


def timers():
    """Their descriptors; the sockets are the scripted gard's to count."""
    return sum("timerfd" in os.readlink(entry.path) for entry in os.scandir("/proc/self/fd")
               if os.path.islink(entry.path))


async def turns(count=20):
    for _ in range(count):
        await asyncio.sleep(0.001)


# ---- A stream.

@in_loop
async def test_a_cancelled_close_of_a_stream_goes_on_and_the_next_awaits_it():
    async with Busy() as busy:
        stream, = busy.streams
        for _ in range(2):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(stream.close(), 0.01)
        again = asyncio.ensure_future(stream.close())
        await turns()
        assert not again.done() and busy.ends == [(0, 0)]
        busy.hold.set()
        await again
        assert busy.ends == [(1, 1)]
        await stream.close()
        assert busy.ends == [(1, 1)]


@in_loop
async def test_a_cancelled_close_of_a_stream_ends_without_anybody():
    async with Busy() as busy:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(busy.streams[0].close(), 0.01)
        busy.hold.set()
        await eventually(lambda: busy.ends == [(1, 1)], "the end")


@in_loop
async def test_every_close_of_a_stream_awaits_its_work():
    async with Busy() as busy:
        closes = [asyncio.ensure_future(busy.streams[0].close()) for _ in range(3)]
        await turns()
        assert not any(close.done() for close in closes)
        busy.hold.set()
        await asyncio.gather(*closes)
        assert busy.ends == [(1, 1)]


@in_loop
async def test_every_close_of_a_stream_is_told_that_it_could_not_settle():
    async with Busy() as busy:
        stream, = busy.streams
        busy.devices[0].fault("error", 700)
        busy.devices[0].submit(0, busy.hold)
        stream.record()
        closes = [asyncio.ensure_future(stream.close()) for _ in range(2)]
        await turns()
        busy.hold.set()
        for close in closes:
            with pytest.raises(garclient.SettleFailed):
                await close
        with pytest.raises(garclient.SettleFailed):
            await stream.close()
        assert busy.ends == [(0, 0)]


@pytest.mark.parametrize("plan", ["poll", "flag:park_us=100,backstop_us=10000"])
@in_loop
async def test_a_wait_that_wakes_as_its_stream_begins_to_close_does_not_sleep_again(
        plan, monkeypatch):
    monkeypatch.setenv("GAR_PLAN", plan)
    async with garclient.connect(in_process=True) as gar:
        for _ in range(20):
            stream = gar.word_stream()
            waiting = asyncio.ensure_future(stream.wait(stream.record()))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            # The news comes, and in the same turn the stream's end begins.
            for news in list(stream._end.sleeping._news):
                news.set_result(False)
            stream._end.begin()
            with pytest.raises(garclient.Closed):
                await waiting
            await stream.close()


@pytest.mark.parametrize("plan", ["poll", "flag:park_us=100,backstop_us=10000", "block"])
@pytest.mark.parametrize("served", [False, True])
@in_loop
async def test_a_wait_of_another_thread_ends_with_closed_too(served, plan, scripted, monkeypatch):
    monkeypatch.setenv("GAR_PLAN", plan)
    scripted(plan=plan)
    async with garclient.connect(scripted.path if served else None,
                                 in_process=not served) as gar:
        stream = gar.word_stream()
        done, never = stream.record(), stream.record()
        stream.signal(done)
        waiting = asyncio.get_running_loop().run_in_executor(None, stream.wait_sync, never)
        await turns()
        await stream.close()
        with pytest.raises(garclient.Closed):
            await waiting
        for call in (lambda: stream.wait_sync(done), lambda: stream.signal(never),
                     lambda: stream.query(done), lambda: stream.word, stream.record):
            with pytest.raises(garclient.Closed):
                call()


@in_loop
async def test_a_device_is_closed_after_the_last_call_of_it_has_returned():
    class Slow(Counted):
        """A query by another thread takes until `returns`."""
        inside = 0

        def __init__(self):
            super().__init__()
            self.asked, self.returns = threading.Event(), threading.Event()

        def query(self, sequence):
            if threading.current_thread() is threading.main_thread():
                return super().query(sequence)
            self.inside += 1
            self.asked.set()
            self.returns.wait(60)
            self.inside -= 1
            return False

        def close(self):
            assert self.inside == 0
            super().close()

    async with garclient.connect(in_process=True) as gar:
        device = Slow()
        stream = gar.stream(device)
        device.submit(0)
        number = stream.record()
        waiting = asyncio.get_running_loop().run_in_executor(None, stream.wait_sync, number)
        await eventually(device.asked.is_set, "the query")
        closing = asyncio.ensure_future(stream.close())
        await eventually(lambda: device.settled == 1, "its stores")
        await turns()
        assert device.closed == 0 and not closing.done()
        device.returns.set()
        await closing
        with pytest.raises(garclient.Closed):
            await waiting
        assert device.closed == 1


# What slipped in behind the newest number, which the end polls for, held up the loop as it settled.
@in_loop
async def test_nothing_is_recorded_once_the_end_has_begun():
    async with Busy() as busy:
        stream, = busy.streams
        stream._end.begin()
        with pytest.raises(garclient.Closed):
            stream._source.record()  # of a thread that had passed every check before
        assert busy.devices[0].records == 1
        busy.hold.set()


@in_loop
async def test_nothing_is_recorded_behind_the_last_store_that_was_waited_for():
    async with Busy() as busy:
        busy.hold.set()
        source = busy.streams[0]._source
        source.settle()
        with pytest.raises(garclient.Closed):
            source.record()  # of a thread that had passed every check when the end began
        assert busy.devices[0].records == 1
        busy.devices[0].settled = 0


@in_loop
async def test_what_was_handed_over_lives_until_its_stream_is_closed_though_nobody_holds_that(
        monkeypatch):
    class Handle:
        pass

    device, handle = Counted(), Handle()
    monkeypatch.setattr("garclient.client.device_of", lambda *_: device)
    lives, hold = weakref.ref(handle), threading.Event()
    async with garclient.connect(in_process=True) as gar:
        device.submit(0, hold)
        gar.stream(handle).record()
        del handle
        gc.collect()
        closing = asyncio.ensure_future(gar.close())
        await turns()
        assert lives() is not None and not closing.done()
        hold.set()
        await closing
    assert device.closed == 1
    del closing
    await asyncio.sleep(0)
    gc.collect()
    assert lives() is None


@in_loop
async def test_a_close_in_another_loop_is_refused():
    async with Busy() as busy:
        busy.hold.set()
        refused = []

        def other():
            for closing in (busy.streams[0].close, busy.client.close):
                try:
                    asyncio.run(closing())
                except garclient.InvalidArgument as failure:
                    refused.append(failure.arguments[0])

        thread = threading.Thread(target=other)
        thread.start()
        await eventually(lambda: not thread.is_alive(), "the end of the thread")
        assert refused == ["loop", "loop"]


@in_loop
async def test_a_stream_that_went_on_at_a_slot_far_ahead_closes_after_its_work(scripted):
    gard = scripted()
    async with Busy(path=scripted.path) as busy:
        stream, = busy.streams
        gard.die()
        await eventually(lambda: busy.client.mode == "in-process")
        scripted(base_ahead=1000)
        busy.client._session._retry_ns = 0
        busy.client._session.want_link()
        await eventually(lambda: stream._source.bindings == 2)
        assert stream._source.last == 1001
        busy.devices[0].idle = lambda: True
        waiting = asyncio.ensure_future(stream.wait())
        await turns()
        assert not waiting.done()
        closing = asyncio.ensure_future(stream.close())
        await turns()
        assert not closing.done()
        busy.hold.set()
        await closing
        with pytest.raises(garclient.Closed):
            await waiting
        assert busy.ends == [(1, 1)]


@in_loop
async def test_what_a_device_raises_as_it_is_closed_is_backend():
    class Stuck(Counted):
        def close(self):
            super().close()
            raise ValueError("stuck")

    async with Busy() as busy:
        busy.hold.set()
        stream = busy.client.stream(Stuck())
        stream._source.device.submit(0)
        stream.record()
        with pytest.raises(garclient.Backend, match="software.close.*ValueError: stuck"):
            await stream.close()


# The close once came before the cancel. gard refuses that, and kept the stream until the client left.
@in_loop
async def test_a_stream_is_closed_at_gard_behind_the_waits_that_its_close_ended(scripted):
    gard = scripted(completes=False)
    async with garclient.connect(scripted.path) as gar:
        stream, other = gar.word_stream(), gar.word_stream()
        waits = [asyncio.ensure_future(one.wait(one.record())) for one in (stream, stream, other)]
        await eventually(lambda: len(gard.received(frames.Wait)) == 3, "the waits")
        await stream.close()
        await eventually(lambda: gard.received(frames.Close), "the close")
        order = [type(message) for message in gard.log]
        assert order[-3:] == [frames.Cancel, frames.Cancel, frames.Close]
        assert not waits[2].done()
        await other.close()
        for wait in waits:
            with pytest.raises(garclient.Closed):
                await wait
        await eventually(lambda: len(gard.received(frames.Close)) == 2, "the other close")
        assert len(gard.received(frames.Cancel)) == 3


# ---- A client.

@in_loop
async def test_an_entering_that_is_given_up_leaves_nothing(scripted):
    gard = scripted(answers_hello=False)
    client = garclient.connect(scripted.path)
    before = timers()
    for number in range(1, 4):
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(client.__aenter__(), 0.02)
        with pytest.raises(garclient.InvalidArgument):
            client.word_stream()
        await eventually(lambda: len(gard.received(frames.Hello)) == number, "its hello")
    await eventually(lambda: scripted.connections() == 0, "the end of the connections")
    assert timers() == before


@in_loop
async def test_an_entering_that_is_cancelled_as_gard_takes_it_leaves_nothing(scripted):
    scripted()
    client = garclient.connect(scripted.path)

    async def enter():
        before = timers()
        session, loop = client._session, asyncio.get_running_loop()
        session.joined = lambda link: (Session.joined(session, link),
                                       loop.call_soon(entering.cancel))
        entering = asyncio.ensure_future(client.__aenter__())
        await asyncio.wait([entering])
        assert entering.cancelled() and client.mode == "in-process"
        del session.joined, entering
        await eventually(lambda: scripted.connections() == 0, "the end of the connection")
        assert timers() == before

    await enter()
    async with client:
        assert client.mode == "daemon"


@pytest.mark.parametrize("how", ["exit", "close"])
@in_loop
async def test_a_cancelled_end_of_a_client_closes_every_stream_and_is_cancelled_then(how, scripted):
    scripted()
    busy = Busy(3, scripted.path)

    async def use():
        await busy.__aenter__()
        await (busy.__aexit__(None, None, None) if how == "exit" else busy.client.close())

    task = asyncio.ensure_future(use())
    await turns()
    for _ in range(3):
        task.cancel()
        await turns(3)
    assert not task.done() and busy.ends == [(0, 0)] * 3
    busy.hold.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert busy.ends == [(1, 1)] * 3
    await eventually(lambda: scripted.connections() == 0, "the end of the connection")


@in_loop
async def test_a_client_awaits_a_stream_that_is_being_closed_already():
    async with Busy(2) as busy:
        closing = asyncio.ensure_future(busy.streams[0].close())
        given_up = asyncio.ensure_future(busy.streams[1].close())
        await turns()
        given_up.cancel()
        ending = asyncio.ensure_future(busy.client.close())
        await turns()
        assert not ending.done() and not closing.done()
        busy.hold.set()
        await ending
        assert busy.ends == [(1, 1)] * 2
        await closing


@in_loop
async def test_every_close_of_a_client_awaits_the_same_end():
    async with Busy(2) as busy:
        closes = [asyncio.ensure_future(busy.client.close()) for _ in range(3)]
        await turns()
        assert not any(close.done() for close in closes)
        with pytest.raises(garclient.InvalidArgument):
            await busy.client.__aenter__()
        busy.hold.set()
        await asyncio.gather(*closes)
        assert busy.ends == [(1, 1)] * 2


@in_loop
async def test_a_stream_that_cannot_settle_keeps_no_other_from_closing():
    busy = Busy(3)
    await busy.__aenter__()
    busy.devices[0].fault("arm", 700)
    with pytest.raises(garclient.Backend):
        busy.streams[0].record()
    busy.devices[0]._error = garclient.Backend("software.work", "700", status=700)
    busy.hold.set()
    with pytest.raises(garclient.SettleFailed):
        await busy.client.close()
    assert busy.ends[1:] == [(1, 1)] * 2
    await busy.client.close()


@in_loop
async def test_what_no_close_of_a_stream_was_told_the_close_of_the_client_is():
    busy = Busy(2)
    await busy.__aenter__()
    for device, stream in zip(busy.devices, busy.streams):
        device.fault("error", 700)
        device.submit(0, busy.hold)
        stream.record()
    given_up, told = (asyncio.ensure_future(stream.close()) for stream in busy.streams)
    await turns()
    given_up.cancel()
    busy.hold.set()
    with pytest.raises(garclient.SettleFailed) as failure:
        await told
    await eventually(lambda: all(stream._end.is_reached for stream in busy.streams), "their ends")
    with pytest.raises(garclient.SettleFailed) as other:
        await busy.client.close()
    assert other.value is not failure.value


@in_loop
async def test_a_client_that_was_closed_can_be_entered_again():
    busy = Busy()
    busy.hold.set()
    for _ in range(3):
        async with busy:
            pass
        assert busy.ends == [(1, 1)]
        busy.devices, busy.streams = [Counted()], []


@pytest.mark.parametrize("served", [False, True])
def test_what_threads_may_call_works_on_after_its_loop_has_ended(served, scripted):
    if served:
        scripted()
    client = garclient.connect(scripted.path)

    async def main():
        await client.__aenter__()
        return client.word_stream(), client.stream(SoftwareDevice())

    words, stream = asyncio.run(main())
    client._session._retry_ns = 0  # it is time to look for a gard again
    words.signal(words.record())
    assert words.wait_sync().in_process is False
    stream._source.device.submit(0.001)
    stream.wait_sync(stream.record(), timeout=60)
    assert stream._source.device.truth == 1


def test_a_loop_that_ends_does_not_leave_a_close_half_way():
    busy = Busy(2)

    async def main():
        await busy.__aenter__()
        for stream in busy.streams:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(stream.close(), 0.01)
        threading.Timer(0.05, busy.hold.set).start()

    asyncio.run(main())
    assert busy.ends == [(1, 1)] * 2


def ending_at_once(busy, close):
    """A loop that ends behind the step which creates the task: it cancels the end unstarted."""
    async def main():
        await busy.__aenter__()
        busy.hold.set()
        asyncio.get_running_loop().create_task(close())

    asyncio.run(main())


# A task that is cancelled before its first step runs nothing: the device was never let go.
@pytest.mark.parametrize("served", [False, True])
def test_a_loop_that_ends_before_the_first_step_of_a_close_ends_the_stream(served, scripted):
    gard = scripted()
    busy = Busy(path=scripted.path if served else None)
    device, = busy.devices
    ending_at_once(busy, lambda: busy.streams[0].close())
    assert busy.ends == [(1, 1)] and device.mapped == []
    asyncio.run(busy.streams[0].close())
    with pytest.raises(garclient.Closed):
        busy.streams[0].record()
    assert busy.ends == [(1, 1)] and len(gard.received(frames.Open)) == served


def test_a_failure_to_settle_as_the_loop_ends_is_told_by_the_next_close():
    busy = Busy()
    busy.devices[0]._error = garclient.Backend("software.work", "700", status=700)
    ending_at_once(busy, lambda: busy.streams[0].close())
    with pytest.raises(garclient.SettleFailed):
        asyncio.run(busy.streams[0].close())


# It left its timer open, and said for good that it was open already.
@pytest.mark.parametrize("begun", [0, 1, 2])
def test_a_client_whose_loop_ended_before_the_first_step_of_its_close_can_be_entered_again(
        begun, scripted):
    scripted()
    busy, before = Busy(2, scripted.path), timers()

    async def main():
        await busy.__aenter__()
        for stream in busy.streams[:begun]:
            stream._end.begin()
        await turns()
        threading.Timer(0.05, busy.hold.set).start()
        asyncio.get_running_loop().create_task(busy.client.close())

    asyncio.run(main())
    assert busy.ends == [(1, 1)] * 2 and timers() == before
    busy.devices, busy.streams = [Counted()], []

    async def again():
        async with busy:
            assert busy.client.mode == "daemon"
        await eventually(lambda: scripted.connections() == 0, "the end of the connections")

    asyncio.run(again())
    assert busy.ends == [(1, 1)] and timers() == before
