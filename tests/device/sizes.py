"""How much of everything a run does: on a card, and with the fake driver."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    total_s: int  # of the whole run; no part starts after it, and none goes beyond it
    probe_s: int  # bounds of the parts
    delay_s: int
    load_s: int
    faults_s: int
    word_s: int
    demo_s: int
    delay_repeats: dict  # how often each way waits, by the work's length in us
    delay_work_s: int  # for each length, at most
    word_work_us: int
    word_repeats: int
    load_works_us: tuple
    load_streams: tuple
    load_processes: tuple
    load_turns: int  # slices of each way in each setting
    load_slice_s: float
    fault_work_us: int  # what is running while a fault comes
    pending_waits: int  # of the client that is killed
    demo_waits: int


REAL = Sizes(total_s=465, probe_s=45, delay_s=110, load_s=240, faults_s=75, word_s=30, demo_s=40,
             delay_repeats={100: 3000, 1000: 1500, 10000: 250}, delay_work_s=28,
             word_work_us=3000, word_repeats=500, load_works_us=(100, 1000, 10000),
             load_streams=(1, 8), load_processes=(1, 4), load_turns=3, load_slice_s=0.35,
             fault_work_us=200_000, pending_waits=8, demo_waits=20)

FAKE = Sizes(total_s=200, probe_s=30, delay_s=60, load_s=90, faults_s=90, word_s=30, demo_s=60,
             delay_repeats={100: 8, 1000: 8, 20000: 5}, delay_work_s=10,
             word_work_us=1000, word_repeats=5, load_works_us=(100, 1000),
             load_streams=(1, 2), load_processes=(1, 2), load_turns=1, load_slice_s=0.005,
             fault_work_us=50_000, pending_waits=4, demo_waits=3)
