"""A client with a gard that is right, silent, lying, stuck or dying; and with none."""

import asyncio
import gc
import os
import threading
import time
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import pytest
from conftest import eventually, in_loop
from scripted_gard import SEALS
from software_device import SoftwareDevice

import garclient
from garclient import frames


class Opened:
    """async with Opened(scripted) as (gar, device, stream); at its end gard has read all of it."""

    def __init__(self, scripted):
        self.scripted = scripted
        self.client = garclient.connect(scripted.path, name="tester")

    async def __aenter__(self):
        gar = await self.client.__aenter__()
        device = SoftwareDevice()
        return gar, device, gar.stream(device, name="work")

    async def __aexit__(self, *error):
        await self.client.__aexit__(*error)
        await eventually(lambda: self.scripted.connections() == 0, "the end of the connection")


# Work that is still pending when it is awaited, also on a busy machine, and done before a gard that
# says nothing would be given up.
LONG_S = 0.05


def record(device, stream, duration_s):
    device.submit(duration_s)
    return stream.record()


# ---- A gard that behaves.

@in_loop
async def test_says_hello_with_its_name_and_opens_its_stream(scripted):
    gard = scripted()
    async with Opened(scripted) as (gar, _, _):
        assert gar.mode == "daemon"
    hello = gard.received(frames.Hello)[0]
    assert (hello.client_name, hello.features) == ("tester", 0)
    assert {driver.name for driver in hello.entries} == {"cuda", "hip"}
    opened = gard.received(frames.Open)[0]
    assert (opened.base, opened.authority, opened.stream_name) == (0, 0, "work")


@in_loop
async def test_a_flag_wait_is_delegated_and_ends_after_the_last_query(scripted):
    gard = scripted()
    async with Opened(scripted) as (gar, device, stream):
        report = await stream.wait(record(device, stream, LONG_S))
        assert device.truth == 1
        assert (report.delegated, report.in_process, report.parks) == (True, False, 9)
        assert report.kind_name == "parked" and report.kind is garclient.Kind.PARKED
        assert gar.counters.delegated == 1
        assert gard.word(0) == 1


@in_loop
async def test_a_wait_says_all_that_gard_must_know(scripted):
    gard = scripted()
    async with Opened(scripted) as (_, device, stream):
        for _ in range(2):
            await stream.wait(record(device, stream, LONG_S), timeout=0.9, point="readback", rows=12)
    first, second = gard.received(frames.Wait)
    assert (first.target, first.plan_generation, first.rows) == (1, 5, 12)
    assert (first.timeout_ns, first.stream) == (900_000_000, 1)
    assert first.cookie != second.cookie
    points = gard.received(frames.Point)
    assert [point.point_name for point in points] == ["readback"]
    assert first.point == second.point == points[0].point


@in_loop
async def test_waits_of_one_turn_of_the_loop_go_in_one_message(scripted):
    gard = scripted()
    hold = threading.Event()
    async with Opened(scripted) as (_, device, stream):
        device.submit(0, hold)
        waits = [asyncio.ensure_future(stream.wait(stream.record())) for _ in range(100)]
        await eventually(lambda: len(gard.received(frames.Wait)) == 100, "the waits")
        hold.set()
        await asyncio.gather(*waits)
    messages = gard.received(frames.Waits)
    assert len(messages) == 2 and len(gard.received(frames.Wait)) == 100


@in_loop
async def test_block_and_poll_run_here_and_are_reported_together(scripted):
    gard = scripted(plan="poll;rows>=1:block")
    async with Opened(scripted) as (gar, device, stream):
        report = await stream.wait(record(device, stream, LONG_S))
        assert (report.kind_name, report.delegated, report.in_process) == ("parked", False, False)
        gar.rows(1)
        assert (await stream.wait(record(device, stream, 0.001))).kind_name == "blocked"
        await eventually(lambda: len(gard.received(frames.Outcome)) == 2, "outcomes")
    parked, blocked = gard.received(frames.Outcome)
    assert (blocked.kind, blocked.sample, parked.kind, parked.sample) == (0, 0, 3, 1)
    assert blocked.rows == 1 and parked.sample_ns == parked.wait_ns > 0
    assert len(gard.received(frames.Outcomes)) == 1
    assert not gard.received(frames.Wait)


@in_loop
async def test_done_at_the_first_query_is_immediate_and_reported(scripted):
    gard = scripted()
    async with Opened(scripted) as (_, device, stream):
        number = record(device, stream, 0)
        await eventually(lambda: stream.query(number))
        assert (await stream.wait(number)).kind_name == "immediate"
    assert [outcome.kind for outcome in gard.received(frames.Outcome)] == [1]
    assert not gard.received(frames.Wait)


@in_loop
async def test_a_wait_without_a_number_covers_the_work_so_far(scripted):
    scripted()
    async with Opened(scripted) as (_, device, stream):
        device.submit(0.005)
        await stream.wait()
        assert device.truth == 1


@in_loop
async def test_what_a_device_raises_when_asked_whether_it_is_idle_is_backend(scripted):
    scripted()
    async with Opened(scripted) as (_, device, stream):
        device.idle = lambda: {}["nothing"]
        with pytest.raises(garclient.Backend, match="software.idle.*KeyError: 'nothing'"):
            await stream.wait()
        with pytest.raises(garclient.Backend):
            stream.wait_sync()
        await stream.wait(record(device, stream, 0))  # it has not failed


@in_loop
async def test_a_word_stream_delegates_every_plan(scripted):
    gard = scripted(plan="block")
    async with garclient.connect(scripted.path) as gar:
        stream = gar.word_stream(name="dpu")
        number = stream.record()
        threading.Timer(LONG_S, stream.signal, [number]).start()
        assert (await stream.wait(number)).delegated
        assert gard.bell[77 % 8] == 1 << 63 | 77 << 48 | 1 << 32 | number
        with pytest.raises(garclient.InvalidArgument):
            stream.signal(number + 1)
    assert gard.received(frames.Open)[0].authority == 1


@in_loop
async def test_wait_sync_runs_the_plan_on_its_thread_and_reports_it(scripted):
    gard = scripted()
    async with Opened(scripted) as (_, device, stream):
        number = record(device, stream, LONG_S)
        report = await asyncio.get_running_loop().run_in_executor(None, stream.wait_sync, number)
        assert (report.delegated, report.in_process, device.truth) == (False, False, 1)
        assert stream.wait_sync(number).kind_name == "immediate"
        await eventually(lambda: len(gard.received(frames.Outcome)) == 2, "outcomes")
    assert not gard.received(frames.Wait)


# ---- Cancelling and time.

@in_loop
async def test_a_cancelled_await_cancels_the_wait_at_gard(scripted):
    gard = scripted()
    hold = threading.Event()
    async with Opened(scripted) as (_, device, stream):
        device.submit(0, hold)
        number = stream.record()
        task = asyncio.ensure_future(stream.wait(number))
        await eventually(lambda: gard.received(frames.Wait))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await eventually(lambda: gard.received(frames.Cancel))
        assert gard.received(frames.Cancel)[0].cookie == gard.received(frames.Wait)[0].cookie
        hold.set()
        await stream.wait(number)
    # Not before gard had ended the cancelled wait.
    await eventually(lambda: gard.received(frames.Close))
    assert gard.received(frames.Close)[0].last_sequence == 1


@in_loop
async def test_a_timeout_is_gards_to_count_and_the_owners_to_keep(scripted):
    def on_wait(gard, wait):
        if wait.timeout_ns == 20_000_000:
            time.sleep(0.02)
            gard.complete(wait.cookie, garclient.TimedOut.number)
        return True

    gard = scripted(on_wait=on_wait)
    hold = threading.Event()
    async with Opened(scripted) as (_, device, stream):
        device.submit(0, hold)
        number = stream.record()
        with pytest.raises(asyncio.TimeoutError):
            await stream.wait(number, timeout=0.02)
        assert not gard.received(frames.Cancel)
        with pytest.raises(garclient.TimedOut) as late:
            await stream.wait(number, timeout=0.03)  # gard says nothing this time
        assert late.value.arguments == ("30ms",)
        await eventually(lambda: gard.received(frames.Cancel))
        with pytest.raises(garclient.TimedOut):
            stream.wait_sync(number, timeout=0.001)
        with pytest.raises(garclient.TimedOut):
            await stream.wait(number, timeout=0)
        hold.set()


@in_loop
async def test_asyncios_own_timeout_ends_it_too(scripted):
    gard = scripted()
    hold = threading.Event()
    async with Opened(scripted) as (_, device, stream):
        device.submit(0, hold)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(stream.wait(stream.record()), 0.02)
        await eventually(lambda: gard.received(frames.Cancel))
        hold.set()


@pytest.mark.parametrize("options", [
    {"point": "x" * 64}, {"point": "a\nb"}, {"point": "\ud800"}, {"rows": -1}, {"rows": 1 << 32},
    {"rows": 1.5}, {"rows": 1.0}, {"rows": "1"}, {"timeout": float("nan")}, {"timeout": "5"},
    {"timeout": 1j}], ids=str)
@in_loop
async def test_an_argument_that_cannot_be_is_refused_before_anything_is_sent(scripted, options):
    gard = scripted()
    async with Opened(scripted) as (gar, device, stream):
        number = record(device, stream, 0)
        with pytest.raises(garclient.InvalidArgument):
            await stream.wait(number, **options)
        with pytest.raises(garclient.InvalidArgument):
            stream.wait_sync(number, **options)
        for rows in (-1, 1 << 32, 1.5, "1", None):
            with pytest.raises(garclient.InvalidArgument):
                gar.rows(rows)
        for name in ("x" * 64, "a\0b", "\udfff"):
            with pytest.raises(garclient.InvalidArgument):
                gar.word_stream(name=name)
        await stream.wait(number, timeout=float("inf"))
        for never in (number + 1, 0, -1, 1 << 64, number + (1 << 64), 1.0, "1"):
            with pytest.raises(garclient.InvalidArgument):
                await stream.wait(never)
            with pytest.raises(garclient.InvalidArgument):
                stream.query(never)
    assert not gard.received(frames.Point)
    assert len(gard.received(frames.Open)) == 1


@pytest.mark.parametrize("options", [{"rows": 1.5}, {"timeout": float("nan")}], ids=str)
@in_loop
async def test_an_argument_that_cannot_be_harms_no_other_wait(scripted, options):
    gard = scripted()
    async with Opened(scripted) as (gar, device, stream):
        number = record(device, stream, LONG_S)
        other = gar.word_stream()
        threading.Timer(LONG_S, other.signal, [other.record()]).start()
        wrong, right = await asyncio.gather(stream.wait(number, **options), other.wait(1),
                                            return_exceptions=True)
        assert isinstance(wrong, garclient.InvalidArgument)
        assert isinstance(right, garclient.Report)
    assert len(gard.received(frames.Wait)) == 1


class Whole:
    def __index__(self):
        return 1

    def __repr__(self):
        return "Whole()"


def short(value):
    return str(value)[:20]


@pytest.mark.parametrize("rows, timeout", [(True, 60), (Whole(), Whole()), (1, Fraction(60)),
                                           (1, Decimal(60)), (1, 10 ** 400)], ids=short)
@in_loop
async def test_whatever_is_a_number_is_taken_as_one(scripted, rows, timeout):
    gard = scripted()
    async with Opened(scripted) as (gar, device, stream):
        gar.rows(rows)
        await stream.wait(record(device, stream, LONG_S), rows=rows, timeout=timeout)
    assert gard.received(frames.Wait)[0].rows == 1
    assert gard.received(frames.Wait)[0].timeout_ns in (0, 10**9, 60 * 10**9)


@pytest.mark.parametrize("timeout", [0, -1, -0.5, float("-inf"), -10 ** 400], ids=short)
@in_loop
async def test_a_timeout_that_is_over_is_over(timeout):
    async with garclient.connect(in_process=True) as gar:
        stream = gar.word_stream()
        number = stream.record()
        with pytest.raises(garclient.TimedOut):
            await stream.wait(number, timeout=timeout)
        with pytest.raises(garclient.TimedOut):
            stream.wait_sync(number, timeout=timeout)


# ---- A gard that is stuck, or lies.

@in_loop
async def test_a_silent_gard_hangs_nobody_and_is_not_asked_again_until_it_speaks(scripted):
    gard = scripted(on_wait=lambda *_: True)
    async with Opened(scripted) as (gar, device, stream):
        report = await stream.wait(record(device, stream, LONG_S))
        assert device.truth == 1
        assert (report.delegated, report.in_process) == (False, True)
        assert report.wait_ns >= 100_000_000
        assert gar.counters.owner_backstops == 1
        await eventually(lambda: gard.received(frames.Cancel))
        assert gar.mode == "in-process"
        assert (await stream.wait(record(device, stream, 0.003))).in_process
        assert len(gard.received(frames.Wait)) == 1
        gard.send(frames.PlanScope(6, 0, 0, 1, "", "poll"))
        await eventually(lambda: gar.mode == "daemon")


# They stayed in-process for as long as that gard lived.
@in_loop
async def test_streams_opened_while_gard_is_frozen_go_there_once_it_speaks(scripted, monkeypatch):
    monkeypatch.setattr("garclient.session._OPEN_PATIENCE_NS", 20_000_000)
    opens = threading.Event()
    opens.set()
    gard = scripted(opens=opens)
    async with Opened(scripted) as (gar, _, before):
        opens.clear()
        devices = [SoftwareDevice() for _ in range(3)]
        streams = [gar.stream(device, name=f"meanwhile {i}") for i, device in enumerate(devices)]
        assert gar.mode == "in-process" and len(gard.received(frames.Open)) == 2
        assert (await streams[0].wait(record(devices[0], streams[0], LONG_S))).in_process
        opens.set()
        await eventually(lambda: all(stream._source.current.link for stream in streams))
        for device, stream in zip(devices, streams):
            assert (await stream.wait(record(device, stream, LONG_S))).delegated
        # The place that was asked for first came too late; who had one keeps it.
        await eventually(lambda: gard.received(frames.Close))
        assert [close.stream for close in gard.received(frames.Close)] == [2]
        assert [opened.stream_name for opened in gard.received(frames.Open)] == [
            "work", "meanwhile 0", "meanwhile 0", "meanwhile 1", "meanwhile 2"]
        assert before._source.bindings == 1


@in_loop
async def test_an_early_word_is_counted_and_asked_out(scripted):
    gard = scripted(on_wait=lambda gard, wait: gard.complete(wait.cookie) or True)
    async with Opened(scripted) as (gar, device, stream):
        report = await stream.wait(record(device, stream, LONG_S))
        assert (device.truth, report.early_words, gar.counters.early_words) == (1, 1, 1)
    assert [outcome.what for outcome in gard.received(frames.Outcome)] == [1]
    assert len(gard.received(frames.Wait)) == 1


@in_loop
async def test_a_word_that_came_early_is_never_registered(scripted):
    gard = scripted()
    hold = threading.Event()
    async with Opened(scripted) as (_, device, stream):
        device.fault("early")
        device.submit(0, hold)
        number = stream.record()
        waiting = asyncio.ensure_future(stream.wait(number))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        hold.set()
        report = await waiting
        assert (device.truth, report.early_words, report.delegated) == (1, 1, False)
    assert not gard.received(frames.Wait)
    assert [outcome.what for outcome in gard.received(frames.Outcome)] == [1, 0]


@pytest.mark.parametrize("code, confirmed", [(0, 1), (0x08, 0), (0x0D, 0), (0x28, 0), (0x0E, 0)])
@in_loop
async def test_gards_claims_are_asked_for_at_the_device(scripted, code, confirmed):
    scripted(on_wait=lambda gard, wait: gard.complete(wait.cookie, code, confirmed) or True)
    async with Opened(scripted) as (_, device, stream):
        await stream.wait(record(device, stream, 0.01))
        assert device.truth == 1


@in_loop
async def test_a_limit_refusal_runs_here_and_is_counted(scripted):
    gard = scripted(refuses_waits=garclient.LimitWaits.number)
    async with Opened(scripted) as (gar, device, stream):
        report = await stream.wait(record(device, stream, LONG_S))
        assert (device.truth, report.delegated, gar.counters.limit_refused) == (1, False, 1)
    assert [outcome.what for outcome in gard.received(frames.Outcome)] == [2, 0]


@in_loop
async def test_a_stale_plan_is_picked_again(scripted):
    def on_wait(gard, wait):
        if wait.plan_generation == 8:
            return False
        gard.send(frames.PlanScope(8, 0, 0, 1, "", "flag:park_us=50,backstop_us=20000"))
        gard.refuse_wait(wait.cookie, garclient.StalePlan.number)
        return True

    gard = scripted(on_wait=on_wait)
    async with Opened(scripted) as (_, device, stream):
        assert (await stream.wait(record(device, stream, LONG_S))).delegated
    first, second = gard.received(frames.Wait)
    assert (first.plan_generation, second.plan_generation) == (5, 8)
    assert second.age_ns >= first.age_ns


@in_loop
async def test_a_plan_set_for_all_changes_new_waits(scripted):
    gard = scripted()
    async with Opened(scripted) as (gar, device, stream):
        gard.send(frames.PlanScope(6, 0, 0, 1, "", "block"))
        await eventually(lambda: gar._session.plans.generation == 6)
        assert (await stream.wait(record(device, stream, 0.001))).kind_name == "blocked"


# ---- Probes.

@in_loop
async def test_a_device_error_is_found_by_a_probe_and_told_with_its_call(scripted):
    gard = scripted(completes=False)
    hold = threading.Event()
    async with Opened(scripted) as (_, device, stream):
        device.fault("error", 700)
        device.submit(0, hold)
        number = stream.record()
        waiting = asyncio.ensure_future(stream.wait(number))
        await eventually(lambda: gard.received(frames.Wait))
        gard.send(frames.Probes([frames.Probe(1, number, 1, 1)]))
        await eventually(lambda: gard.received(frames.Status))
        assert gard.received(frames.Status)[0].state == 0
        hold.set()
        await eventually(lambda: device._error is not None)
        gard.send(frames.Probes([frames.Probe(2, number, 1, 1), frames.Probe(3, number, 9, 1)]))
        await eventually(lambda: len(gard.received(frames.Status)) == 2)
        status = gard.received(frames.Status)[1]
        assert (status.probe_id, status.state, status.status) == (2, 2, 700)
        assert status.call == "software.work"
        gard.complete(gard.received(frames.Wait)[0].cookie, garclient.Backend.number)
        with pytest.raises(garclient.Backend) as failure:
            await waiting
        assert failure.value.status == 700
        with pytest.raises(garclient.StreamFailed):
            stream.record()
        with pytest.raises(garclient.SettleFailed):
            await stream.close()


@in_loop
async def test_what_the_owners_own_probe_found_done_needs_no_further_query(scripted):
    gard = scripted(completes=False)
    async with Opened(scripted) as (_, device, stream):
        device.fault("lost")
        number = record(device, stream, 0.005)
        waiting = asyncio.ensure_future(stream.wait(number))
        await eventually(lambda: gard.received(frames.Wait))
        await eventually(lambda: device.truth == 1)
        gard.send(frames.Probes([frames.Probe(1, number, 1, 1)]))
        await eventually(lambda: gard.received(frames.Status))
        asked = device.queries
        gard.complete(gard.received(frames.Wait)[0].cookie, 0, 1)
        assert (await waiting).delegated
        assert device.queries == asked


@in_loop
async def test_being_probed_keeps_the_owner_waiting(scripted):
    gard = scripted(completes=False, plan="flag:park_us=100,backstop_us=100000")
    hold = threading.Event()
    async with Opened(scripted) as (gar, device, stream):
        device.submit(0, hold)
        number = stream.record()
        waiting = asyncio.ensure_future(stream.wait(number))
        await eventually(lambda: gard.received(frames.Wait))
        asked = device.queries
        for probe in range(1, 21):  # twice as long as gard may be silent
            gard.send(frames.Probes([frames.Probe(probe, number, 1, 1)]))
            await asyncio.sleep(0.02)
        assert device.queries == asked + 20
        hold.set()
        await eventually(lambda: stream.query(number))
        gard.complete(gard.received(frames.Wait)[0].cookie)
        await waiting
        assert (gar.counters.owner_backstops, gar.counters.delegated) == (0, 1)


@in_loop
async def test_a_probe_for_a_number_never_recorded_is_not_answered(scripted):
    gard = scripted()
    async with Opened(scripted) as (_, device, stream):
        number = record(device, stream, 0.001)
        await stream.wait(number)
        for asked in (number + 1, number + (1 << 63), number):
            gard.send(frames.Probes([frames.Probe(asked, asked, 1, 1)]))
        await eventually(lambda: gard.received(frames.Status))
        assert [status.probe_id for status in gard.received(frames.Status)] == [number]
        assert gard.received(frames.Status)[0].state == 1


@in_loop
async def test_what_the_socket_has_no_room_for_is_sent_later(scripted):
    deaf = threading.Event()
    deaf.set()
    gard = scripted(deaf=deaf, completes=False)
    hold = threading.Event()
    async with Opened(scripted) as (_, device, stream):
        device.submit(0, hold)
        number = stream.record()
        deaf.clear()
        await asyncio.sleep(0.01)
        tasks = []
        for _ in range(700):  # each in a message of its own: more than the socket holds
            tasks.append(asyncio.ensure_future(stream.wait(number)))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        gard.send(frames.Probes([frames.Probe(9, number, 1, 1)]))
        await asyncio.sleep(0.01)
        deaf.set()
        await eventually(lambda: gard.received(frames.Status), "the answer")
        sent = len(gard.received(frames.Wait))
        await eventually(lambda: len(gard.received(frames.Cancel)) == sent, "the cancels")
        hold.set()


@in_loop
async def test_a_gard_that_reads_nothing_at_all_is_one_that_is_gone(scripted, monkeypatch):
    monkeypatch.setattr("garclient.mailbox._UNSENT_MAX", 8)
    deaf = threading.Event()
    deaf.set()
    scripted(deaf=deaf, completes=False)
    hold = threading.Event()
    async with Opened(scripted) as (gar, device, stream):
        device.submit(0, hold)
        number = stream.record()
        deaf.clear()
        waiting = asyncio.ensure_future(stream.wait(number))
        while gar.mode == "daemon":
            given_up = asyncio.ensure_future(stream.wait(number))
            await asyncio.sleep(0)
            given_up.cancel()
            await asyncio.wait([given_up])
        hold.set()
        assert (await waiting).in_process and device.truth == 1
        deaf.set()


# ---- Loss.

@in_loop
async def test_its_death_ends_no_wait_and_the_next_gard_serves_the_next(scripted):
    gard = scripted(completes=False)
    async with Opened(scripted) as (gar, device, stream):
        numbers = [record(device, stream, 0.002) for _ in range(20)]
        waits = [asyncio.ensure_future(stream.wait(number)) for number in numbers]
        await eventually(lambda: len(gard.received(frames.Wait)) == 20)
        gard.die()
        for wait in waits:
            await wait
        assert device.truth == 20
        assert gar.mode == "in-process" and gar.counters.in_process > 0
        last = record(device, stream, LONG_S)
        assert (await stream.wait(last)).in_process

        second = scripted()
        for _ in range(2000):
            report = await stream.wait(record(device, stream, 0.003))
            if report.delegated:
                break
        assert report.delegated and gar.mode == "daemon" and gar.counters.reconnects == 1
        assert second.received(frames.Open)[0].base >= last
        assert device.truth == device.records
        # The words that the dead gard left are let go once a later store has landed.
        await eventually(lambda: stream.record() and stream._source.bindings == 1)
        assert len(device.mapped) == 2


@in_loop
async def test_the_next_gard_has_its_own_plans_and_no_wait_for_the_numbers_of_the_last(scripted):
    gard = scripted(generation=5)
    hold = threading.Event()
    async with Opened(scripted) as (gar, device, stream):
        device.submit(0, hold)
        old = stream.record()
        gard.die()
        await eventually(lambda: gar.mode == "in-process")
        second = scripted(generation=1, plan="flag:park_us=1,backstop_us=1000")
        other = gar.word_stream()
        await eventually(lambda: other.signal(other.record()) or gar.mode == "daemon")
        assert gar._session.plans.generation == 1
        await eventually(lambda: stream._source.bindings == 2)
        waiting = asyncio.ensure_future(stream.wait(old))
        await asyncio.sleep(0.01)
        hold.set()
        assert (await waiting).in_process and device.truth == 1
        assert not second.received(frames.Wait)


# Its base is then behind the stream's last number, and was once taken for one far ahead of it.
@in_loop
async def test_a_stream_that_records_on_while_the_next_gard_is_asked_goes_there(scripted):
    gard = scripted()
    async with Opened(scripted) as (gar, device, stream):
        gard.die()
        await eventually(lambda: gar.mode == "in-process")
        opens = threading.Event()
        second = scripted(opens=opens)
        number = record(device, stream, 0)
        while gar.mode != "daemon" or not second.received(frames.Open):
            number = record(device, stream, 0)
            await stream.wait(number)
        for _ in range(3):
            number = record(device, stream, 0)
        await stream.wait(number)
        opens.set()
        await eventually(lambda: stream._source.current.link is not None
                         and stream._source.current.link.alive)
        assert second.word(0) == number
        assert (await stream.wait(record(device, stream, LONG_S))).delegated


@in_loop
async def test_a_stop_is_as_good_as_a_death(scripted):
    gard = scripted(completes=False)
    async with Opened(scripted) as (gar, device, stream):
        waiting = asyncio.ensure_future(stream.wait(record(device, stream, 0.02)))
        await eventually(lambda: gard.received(frames.Wait))
        gard.complete(gard.received(frames.Wait)[0].cookie, garclient.ShuttingDown.number)
        gard.send(frames.Bye(garclient.ShuttingDown.number))
        report = await waiting
        assert (device.truth, report.in_process) == (1, True)
        await eventually(lambda: gar.mode == "in-process")


@in_loop
async def test_every_one_of_many_streams_goes_to_the_next_gard(scripted):
    gard = scripted()
    async with garclient.connect(scripted.path) as gar:
        streams = [gar.word_stream() for _ in range(300)]
        gard.die()
        await eventually(lambda: gar.mode == "in-process")
        second = scripted()
        while len(second.received(frames.Open)) < 300:
            for stream in streams:
                number = stream.record()
                stream.signal(number)
                await stream.wait(number)
        assert gar.mode == "daemon"


@pytest.mark.parametrize("what", ["rubbish", "second welcome", "unknown type", "descriptors",
                                  "a place outside", "answer", "wrong plan"])
@in_loop
async def test_what_cannot_be_ends_the_link_and_nothing_else(scripted, what):
    gard = scripted(completes=False)
    async with Opened(scripted) as (gar, device, stream):
        waiting = asyncio.ensure_future(stream.wait(record(device, stream, 0.02)))
        await eventually(lambda: gard.received(frames.Wait))
        if what == "rubbish":
            gard.send_bytes(b"\x0c\x00\x01\x00\xff\xff\xff\xff")
        elif what == "second welcome":
            gard.send(frames.Welcome(1, 1, 0, 1, 4096, 1, 1, 1, 1, "w", "e", 0, 0), [0, 0, 0])
        elif what == "unknown type":
            gard.send_bytes(b"\x63\x00\x00\x00\x08\x00\x00\x00")
        elif what == "descriptors":
            gard.send(frames.Closed(1), [0])
        elif what == "a place outside":
            gard.send(frames.Page(3, 4096), [gard.bell_fd])
        elif what == "answer":
            gard.send(frames.Answer(1, 0, 2, "{}"))
        else:
            gard.send(frames.PlanScope(9, 0, 0, 1, "", "pol"))
        await eventually(lambda: gar.mode == "in-process")
        await waiting
        assert device.truth == 1


@in_loop
async def test_descriptors_that_nobody_expects_are_closed(scripted):
    gard = scripted()
    async with Opened(scripted) as (gar, _, _):
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(3):
            gard.send(frames.Closed(1), [0, 1, 2])
        await eventually(lambda: gar.mode == "in-process")
        assert len(os.listdir("/proc/self/fd")) <= before


# ---- The handshake.

@pytest.mark.parametrize("script", [
    {"version": 2}, {"page_seals": 0}, {"plan": "pol"}, {"descriptors": 2},
    {"welcome_instead": b"rubbish!"}, {"welcome_instead": frames.encode(frames.Closed(1))},
    {"welcome_instead": frames.encode(frames.Refusal(0, 0x19, 1, 1, "64 clients"))},
    {"welcome_instead": frames.encode(frames.Bye(0x0F))}], ids=str)
@in_loop
async def test_a_handshake_that_cannot_be_is_in_process(scripted, script):
    scripted(**script)
    async with Opened(scripted) as (gar, device, stream):
        assert gar.mode == "in-process"
        assert (await stream.wait(record(device, stream, LONG_S))).in_process
    with pytest.raises(garclient.NotReachable):
        async with garclient.connect(scripted.path, need_daemon=True):
            pass


@in_loop
async def test_a_frozen_handshake_is_given_up_after_a_second(scripted):
    scripted(answers_hello=False)
    begun = time.monotonic()
    async with Opened(scripted) as (gar, _, _):
        assert gar.mode == "in-process"
        assert time.monotonic() - begun >= 1


@in_loop
async def test_without_a_gard_and_with_need_daemon_it_says_whom_it_asked(tmp_path):
    with pytest.raises(garclient.NotReachable, match="nobody.sock"):
        async with garclient.connect(str(tmp_path / "nobody.sock"), need_daemon=True):
            pass


@in_loop
async def test_a_device_that_can_map_the_word_alone_leaves_nothing(scripted):
    class HalfBlind(SoftwareDevice):
        def map(self, page):
            if self.mapped:
                raise OSError("no more")
            super().map(page)

    gard = scripted()
    async with garclient.connect(scripted.path) as gar:
        device = HalfBlind()
        with pytest.raises(garclient.Backend, match="software.map"):
            gar.stream(device)
        assert device.mapped == []
        await eventually(lambda: gard.received(frames.Close), "the place, given back")
        assert not gar._session._asked and not gar._session._streams


@in_loop
async def test_a_stream_that_gard_has_no_room_for_works_in_process(scripted):
    scripted(refuses_open=garclient.LimitStreams.number)
    async with Opened(scripted) as (gar, device, stream):
        assert (await stream.wait(record(device, stream, LONG_S))).in_process
        assert gar.mode == "daemon"


@in_loop
async def test_a_base_half_the_numbers_ahead_is_not_taken(scripted):
    scripted(base_ahead=1 << 63)
    async with Opened(scripted) as (_, device, stream):
        report = await stream.wait(record(device, stream, LONG_S))
        assert report.in_process and device.truth == 1


@in_loop
async def test_a_base_ahead_is_where_the_stream_goes_on(scripted):
    gard = scripted(base_ahead=4711)
    async with Opened(scripted) as (_, device, stream):
        assert gard.word(0) == 4711
        number = record(device, stream, LONG_S)
        assert number == 4712
        assert (await stream.wait(number)).delegated


@in_loop
async def test_pages_without_their_seals_are_never_mapped(scripted):
    scripted(page_seals=SEALS & ~1)
    async with garclient.connect(scripted.path) as gar:
        assert gar.mode == "in-process"


def descriptors_of(fd):
    """How many this process has of that file."""
    gc.collect()
    same = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            same += os.path.samestat(os.stat(f"/proc/self/fd/{name}"), os.fstat(fd))
        except FileNotFoundError:
            pass
    return same


@in_loop
async def test_a_gard_that_ends_what_it_began_is_asked_again_after_a_pause(scripted, monkeypatch):
    # Each wait once brought a connection: hundreds a second.
    now_ns = time.monotonic_ns()
    clock = SimpleNamespace(monotonic_ns=lambda: now_ns)
    monkeypatch.setattr("garclient.session.time", clock)
    gard = scripted(ends=True)
    async with garclient.connect(scripted.path) as gar:
        stream = gar.stream(SoftwareDevice())
        for connections in range(1, 4):
            await eventually(lambda: len(gard.received(frames.Hello)) == connections)
            await eventually(lambda: gar.mode == "in-process" and scripted.connections() == 0)
            now_ns += 19_999_999
            for _ in range(20):
                await stream.wait(stream.record())
            assert gar._session._joining is None
            now_ns += 1
            await stream.wait(stream.record())
            assert gar._session._joining is not None


@pytest.mark.parametrize("script", [{"bell_bytes": 3201}, {"state_bytes": 17}], ids=str)
@in_loop
async def test_pages_that_end_within_a_word_are_refused_and_closed(scripted, script):
    # What they raised was no refusal: the link stayed until its timer, and a descriptor for ever.
    gard = scripted(**script)
    shared = [gard.bell_fd, gard.state_fd]
    before = [descriptors_of(fd) for fd in shared]
    with pytest.raises(garclient.NotReachable, match="its size"):
        async with garclient.connect(scripted.path, need_daemon=True):
            pass
    assert [descriptors_of(fd) for fd in shared] == before


# ---- The end.

@in_loop
async def test_closing_reports_then_closes_streams_then_says_bye(scripted):
    gard = scripted()
    async with Opened(scripted) as (_, device, stream):
        number = record(device, stream, 0)
        await eventually(lambda: stream.query(number))
        await stream.wait(number)
        left = record(device, stream, 0.02)
    assert device.truth == 2 and left == 2
    await eventually(lambda: gard.received(frames.Bye))
    order = [type(message) for message in gard.log]
    assert order.index(frames.Outcomes) < order.index(frames.Bye) == len(order) - 1
    assert gard.received(frames.Close)[0].last_sequence == left
    assert device.mapped == []


@in_loop
async def test_closing_a_stream_ends_its_waits_with_closed(scripted):
    scripted()
    hold = threading.Event()
    async with Opened(scripted) as (_, device, stream):
        device.submit(0, hold)
        number = stream.record()
        waiting = asyncio.ensure_future(stream.wait(number))
        await asyncio.sleep(0.01)
        closing = asyncio.ensure_future(stream.close())
        with pytest.raises(garclient.Closed):
            await waiting
        assert not closing.done()  # the work runs
        hold.set()
        await closing
        with pytest.raises(garclient.Closed):
            stream.record()


@in_loop
async def test_a_forked_child_is_refused_and_leaves_the_connection_alone(scripted):
    gard = scripted()
    async with Opened(scripted) as (gar, device, stream):
        number = record(device, stream, 0.001)
        child = os.fork()
        if child == 0:
            status = 0
            for call in (stream.record, gar.status, gar.word_stream, lambda: stream.query(number)):
                try:
                    call()
                    status = 1
                except garclient.ForkedChild:
                    pass
            os._exit(status)
        _, status = os.waitpid(child, 0)
        assert status == 0
        await stream.wait(number)
        assert gar.mode == "daemon" and not gard.received(frames.Bye)


@in_loop
async def test_an_idle_client_uses_no_cpu(scripted):
    scripted()
    async with Opened(scripted):
        await asyncio.sleep(0.1)
        before = time.thread_time()
        await asyncio.sleep(0.5)
        assert time.thread_time() - before < 0.05


@in_loop
async def test_no_thread_is_its_own(scripted):
    scripted()
    async with garclient.connect(scripted.path) as gar:
        threads = threading.active_count()
        stream = gar.word_stream()
        number = stream.record()
        task = asyncio.ensure_future(stream.wait(number))
        await asyncio.sleep(0.01)
        assert threading.active_count() == threads
        stream.signal(number)
        await task


@in_loop
async def test_other_threads_may_record_query_and_wait_but_not_open(scripted):
    scripted()
    async with Opened(scripted) as (gar, device, stream):
        failures = []

        def other():
            try:
                for _ in range(50):
                    number = record(device, stream, 0)
                    stream.wait_sync(number)
                    assert stream.query(number)
                with pytest.raises(garclient.InvalidArgument):
                    gar.word_stream()
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=other) for _ in range(4)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            await stream.wait(record(device, stream, 0.001))
        assert not failures and device.truth >= 200
