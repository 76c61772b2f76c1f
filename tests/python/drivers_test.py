"""CUDA and HIP streams through libgarclient, over the fake drivers of tests/fake."""

import ctypes
import threading
from types import SimpleNamespace

import pytest
from conftest import BUILD, eventually, in_loop

import garclient
from garclient import frames, handle

FAKES = {"cuda": "libcuda.so.1", "hip": "libamdhip64.so.6"}
MS = 1_000_000


class FakeDriver:
    def __init__(self, vendor):
        # Loaded by its path, it is what the library's own look by name finds.
        self.vendor = vendor
        self.library = ctypes.CDLL(str(BUILD / "tests/fake" / FAKES[vendor]))
        self.library.fake_submit.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p,
                                             ctypes.c_uint64]
        self.library.fake_submit_fault.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int32]
        self.library.fake_slow.argtypes = [ctypes.c_char_p, ctypes.c_uint64]
        for name in ("registrations", "live_events", "violation_count"):
            getattr(self.library, f"fake_{name}").restype = ctypes.c_size_t
        self.library.fake_violation_at.restype = ctypes.c_char_p
        self.library.fake_violation_at.argtypes = [ctypes.c_size_t]
        self.truth = ctypes.c_uint64()
        self.events = self.library.fake_live_events()  # what a fault left is kept on purpose

    def call(self, name, *arguments):
        assert getattr(self.library, name)(*arguments) == 0, name

    def make_stream(self):
        stream = ctypes.c_void_p()
        if self.vendor == "cuda":
            context = ctypes.c_void_p()
            self.call("cuInit", 0)
            self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
            self.call("cuCtxSetCurrent", context)
            self.call("cuStreamCreate", ctypes.byref(stream), 1)
        else:
            self.call("hipInit", 0)
            self.call("hipStreamCreateWithFlags", ctypes.byref(stream), 1)
        return stream.value

    def end_stream(self, stream):
        name = "cuStreamDestroy_v2" if self.vendor == "cuda" else "hipStreamDestroy"
        getattr(self.library, name)(ctypes.c_void_p(stream))

    def submit(self, stream, duration_ns, value):
        self.library.fake_submit(stream, duration_ns, ctypes.addressof(self.truth), value)

    def check(self):
        faults = [self.library.fake_violation_at(i)
                  for i in range(self.library.fake_violation_count())]
        assert not faults
        assert self.library.fake_registrations() == 0
        assert self.library.fake_live_events() == self.events


@pytest.fixture(params=FAKES)
def driver(request, monkeypatch):
    vendor = request.param
    library = BUILD / "lib/libgarclient.so.0"
    for needed in (library, BUILD / "tests/fake" / FAKES[vendor]):
        if not needed.exists():
            pytest.skip(f"{needed} is not built")
    monkeypatch.setenv("GARCLIENT_LIBRARY", str(library))
    fake = FakeDriver(vendor)
    fake.stream = fake.make_stream()
    yield fake
    fake.end_stream(fake.stream)


@in_loop
async def test_a_handle_is_awaited_through_gard(driver, real_gard):
    async with garclient.connect(real_gard.socket, need_daemon=True) as gar:
        stream = gar.stream(driver.stream, vendor=driver.vendor, name="handle")
        # On a busy machine the work may be done before it is awaited.
        for value in range(1, 51):
            driver.submit(driver.stream, 30 * MS, value)
            report = await stream.wait(stream.record())
            assert driver.truth.value == value and not report.in_process
            if report.delegated:
                break
        assert gar.counters.delegated == 1
        assert stream.warning == ""
        assert gar.status()["streams"] == 1
    driver.check()


@in_loop
async def test_a_handle_is_awaited_without_gard(driver):
    async with garclient.connect(in_process=True) as gar:
        async with gar.stream(driver.stream, vendor=driver.vendor) as stream:
            driver.submit(driver.stream, 5 * MS, 7)
            report = await stream.wait()
            assert driver.truth.value == 7 and report.in_process
            driver.submit(driver.stream, 5 * MS, 8)
            stream.wait_sync()
            assert driver.truth.value == 8
    driver.check()


@in_loop
async def test_streams_of_a_context_share_what_is_registered(driver, real_gard):
    async with garclient.connect(real_gard.socket) as gar:
        streams = [driver.make_stream() for _ in range(3)]
        opened = [gar.stream(stream, vendor=driver.vendor) for stream in streams]
        registered = driver.library.fake_registrations()
        assert registered == 2  # words and doorbell
        for stream in opened[:2]:
            await stream.close()
        assert driver.library.fake_registrations() == registered
        await opened[2].close()
        assert driver.library.fake_registrations() == 0
        for stream in streams:
            driver.end_stream(stream)
    driver.check()


@in_loop
async def test_a_fault_of_the_device_ends_the_wait_with_its_call_and_status(driver, real_gard):
    stream_number = driver.make_stream()
    async with garclient.connect(real_gard.socket) as gar:
        stream = gar.stream(stream_number, vendor=driver.vendor)
        driver.library.fake_submit_fault(stream_number, 5 * MS, 700)
        number = stream.record()
        with pytest.raises(garclient.Backend) as failure:
            await stream.wait(number)
        assert failure.value.status == 700 and "700" in failure.value.text
        with pytest.raises(garclient.StreamFailed):
            stream.record()
        with pytest.raises(garclient.SettleFailed):
            await stream.close()
    driver.library.fake_reset(0)
    assert driver.library.fake_violation_count() == 0


@in_loop
async def test_the_interpreter_runs_on_while_the_driver_takes_its_time(driver):
    query = b"cuEventQuery" if driver.vendor == "cuda" else b"hipEventQuery"
    async with garclient.connect(in_process=True) as gar:
        stream = gar.stream(driver.make_stream(), vendor=driver.vendor)
        number = stream.record()
        running, entered = threading.Event(), threading.Event()
        driver.library.fake_slow(query, 300 * MS)

        def asks():
            entered.set()
            stream.query(number)
            running.set()

        asker = threading.Thread(target=asks)
        asker.start()
        entered.wait()
        turns = 0
        # Neither the interpreter's lock nor the client's is held around the driver's call.
        while not running.is_set():
            assert gar._session.lock.acquire(timeout=0)
            gar._session.lock.release()
            turns += 1
        asker.join()
        driver.library.fake_slow(query, 0)
        assert turns > 10


@in_loop
async def test_recording_into_a_capture_is_refused_and_leaves_the_stream_as_it_was(driver):
    async with garclient.connect(in_process=True) as gar:
        stream = gar.stream(driver.stream, vendor=driver.vendor)
        driver.library.fake_begin_capture.argtypes = [ctypes.c_void_p, ctypes.c_uint]
        driver.library.fake_end_capture.argtypes = [ctypes.c_void_p]
        assert driver.library.fake_begin_capture(driver.stream, 0) == 0
        with pytest.raises(garclient.Capturing):
            stream.record()
        assert driver.library.fake_end_capture(driver.stream) == 0
        await stream.wait(stream.record())
    driver.check()


@in_loop
async def test_gard_hears_which_drivers_this_process_has_loaded(driver, scripted):
    gard = scripted()
    async with garclient.connect(scripted.path):
        await eventually(lambda: gard.received(frames.Driver))
    assert (driver.vendor, 1) in {(d.name, d.available) for d in gard.received(frames.Driver)}


@pytest.mark.parametrize("given, number", [
    (5, 5), (0, 0), (SimpleNamespace(cuda_stream=6), 6), (SimpleNamespace(ptr=7), 7),
    (SimpleNamespace(handle=8), 8), (SimpleNamespace(handle=ctypes.c_void_p(9)), 9),
    (ctypes.c_void_p(0), 0), (SimpleNamespace(__cuda_stream__=(0, 10)), 10),
    (SimpleNamespace(__cuda_stream__=lambda: (0, 11)), 11),
    (SimpleNamespace(__cuda_stream__=(0, 12), cuda_stream=1, ptr=2), 12),
    (SimpleNamespace(handle=SimpleNamespace(value=13)), 13)], ids=str)
def test_what_frameworks_hand_out_is_a_number(given, number):
    assert handle.number_of(given) == number


@pytest.mark.parametrize("given", [None, "7", 1.5, -1, 1 << 64, object(), True,
                                   SimpleNamespace(handle="x")], ids=str)
def test_what_is_no_stream_is_refused(given):
    with pytest.raises(garclient.InvalidArgument):
        handle.number_of(given)


@in_loop
async def test_a_library_that_is_not_there_is_named(monkeypatch):
    from garclient import driver as module

    monkeypatch.setattr(module, "_library", None)
    monkeypatch.setenv("GARCLIENT_LIBRARY", "/nonexistent/libgarclient.so.0")
    async with garclient.connect(in_process=True) as gar:
        with pytest.raises(garclient.Unavailable, match="nonexistent"):
            gar.stream(1, vendor="cuda")
        with pytest.raises(garclient.InvalidArgument):
            gar.stream(1, vendor="metal")
