"""What belongs to another client: its streams, waits, probes, slots, cookies, and the doorbell."""

import os
import random
import struct
import time
from contextlib import nullcontext

from access import Attacker
from hostile import (CLOSED, COMPLETION, DUPLICATE_COOKIE, ERROR, OUT_OF_STATE, OWNER,
                     UNKNOWN_STREAM, Hostile, cancel, close_stream, completions, error_of, hello,
                     kind_of, point, status, wait)
from node import require, test
from victim import PLAN, Victim, cpu_s

ATTACK_S = 0.8


@test
def ids_of_others_are_unknown_and_touch_nobody(node):
    node.start_gard()
    node.garctl("plan", "set", PLAN)
    with Victim(node) as victim, Hostile(node.socket) as peer:
        peer.greet()
        refused = 0
        for stream in range(16):
            for generation in (0, 1, 2, 0xffffffff):
                peer.send(close_stream(1, stream, generation))
                require(error_of(peer.next(ERROR, CLOSED)) == (UNKNOWN_STREAM, False))
                peer.send(wait((2, 1, peer.plan_generation, stream, generation)))
                require(error_of(peer.next(ERROR, COMPLETION)) == (UNKNOWN_STREAM, False))
                refused += 2
        peer.send(status((1, 1, 0, 1)))
        require(error_of(peer.next(ERROR)) == (UNKNOWN_STREAM, False))
        # The same number as the victim's: on this connection it is another stream.
        stream, generation, *_ = peer.open()
        peer.send(close_stream(1, stream, generation))
        require(kind_of(peer.next(CLOSED, ERROR)) == CLOSED)
        print(f"{refused + 1} foreign ids, {refused + 1} refused; {victim.check()}")


@test
def guessed_cookies_and_probe_answers_end_nobodys_wait(node):
    node.start_gard()
    node.garctl("plan", "set", "flag:park_us=100,backstop_us=1000")
    client = node.client("victim")
    require(client.ask("fault lost 0")["error"] == 0)
    with Attacker(lambda: guess_without_end(node)):
        # Its word never comes: only an answer to a probe ends it, and only the owner's may.
        answer = client.ask("wait 400")
    require(answer.get("right") is True and answer["wait_ns"] > 399_000_000, answer)
    require(answer["delegated"] == 1, answer)
    print(f"guessed for 400 ms: the victim's wait ended right, {answer['backstop_queries']} probes")


def guess_without_end(node):
    """Cancels and answers whatever another client may have pending."""
    peer = Hostile(node.socket)
    peer.greet()
    stream, generation, *_ = peer.open(authority=OWNER)
    base = 0
    while True:
        peer.send(cancel(base))
        peer.send(status(*((base + i, i % 8, stream, generation) for i in range(48))))
        base += 48
        while peer.readable():
            if not peer.receive():
                os._exit(1)


@test
def what_is_said_twice_counts_once(node):
    node.start_gard()
    node.garctl("plan", "set", PLAN)
    with Victim(node) as victim, Hostile(node.socket) as peer:
        peer.greet()
        stream, generation, *_ = peer.open(1)
        again, *_ = peer.open(1)
        require(again != stream, "the same cookie opens another stream")
        twice = (9, 1, peer.plan_generation, stream, generation)
        peer.send(wait(twice, twice))
        require(error_of(peer.next(ERROR, COMPLETION)) == (DUPLICATE_COOKIE, False))
        for _ in range(2):
            peer.send(point(1, "twice"))
        peer.send(close_stream(3, stream, generation))
        require(error_of(peer.next(ERROR, CLOSED)) == (OUT_OF_STATE, False), "a wait is pending")
        for _ in range(2):
            peer.send(cancel(9))
        ended = list(completions(peer.next(COMPLETION)))
        require([cookie for cookie, _ in ended] == [9], "one completion:", ended)
        peer.send(close_stream(4, stream, generation))
        require(kind_of(peer.next(CLOSED, ERROR)) == CLOSED)
        peer.send(close_stream(5, stream, generation))
        require(error_of(peer.next(CLOSED, ERROR)) == (UNKNOWN_STREAM, False), "closed before")
        peer.send(hello())
        require(error_of(peer.next(ERROR)) == (OUT_OF_STATE, True), "a second hello")
        print(f"6 things said twice; {victim.check()}")


# ---- the doorbell page, which all share


def beside(node, attack, *, seconds=ATTACK_S):
    """The victim's delays and gard's CPU time without and with the attack, which runs in a process
    of its own until it is killed; what there is to print."""
    measured = {}
    for attacked in (False, True):
        with Attacker(lambda: attack(node)) if attacked else nullcontext():
            began, cpu = time.monotonic(), cpu_s(node.gard.pid)
            with Victim(node, "attacked" if attacked else "quiet") as victim:
                time.sleep(seconds)
                took, used = time.monotonic() - began, cpu_s(node.gard.pid) - cpu
                said = victim.check()
            victim.client.close()
            measured[attacked] = (victim, used / took, said)
    (quiet, quiet_cores, _), (attacked, cores, said) = measured[False], measured[True]
    ratio = {q: attacked.quantile_us(q) / quiet.quantile_us(q) for q in (0.5, 0.99)}
    return (f"{said}; {ratio[0.5]:.2f} times (p50) and {ratio[0.99]:.2f} times (p99) the delay "
            f"without it; gard's CPU {quiet_cores:.2f} -> {cores:.2f} cores")


def doorbell_of(node):
    peer = Hostile(node.socket)
    peer.greet("attacker")
    return peer, memoryview(peer.map("doorbell"))


def ring_without_end(node):
    _, page = doorbell_of(node)
    words = page.cast("Q")
    value = 1 << 63
    while True:
        value += 1
        words[value & 7] = value


def set_every_flag_without_end(node):
    _, page = doorbell_of(node)
    while True:
        page[128:3200] = b"\1" * 3072
        page[0:8] = struct.pack("<Q", random.getrandbits(64))


def clear_every_flag_without_end(node):
    _, page = doorbell_of(node)
    nothing = bytes(3072)
    while True:
        page[128:3200] = nothing


def punch_without_end(node):
    peer, _ = doorbell_of(node)
    while True:
        if not punch(peer.fds["doorbell"], 4096):
            os._exit(1)


def punch(fd, size):
    """A hole from the file's start; False where that is refused."""
    import ctypes  # pylint: disable=import-outside-toplevel
    keep_size_punch_hole = 3
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.fallocate(fd, keep_size_punch_hole, ctypes.c_long(0), ctypes.c_long(size)) == 0


def wake_without_end(node):
    """Futex wakes and waits on the state page's word, as any client can."""
    import ctypes  # pylint: disable=import-outside-toplevel
    peer = Hostile(node.socket)
    peer.greet("attacker")
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    at = libc.mmap(None, ctypes.c_size_t(4096), 1, 1, peer.fds["state"], ctypes.c_long(0))
    futex, wake = 202, 1
    while True:
        libc.syscall(futex, ctypes.c_void_p(at), wake, 1000, None, None, 0)


def attack_with(node, attack):
    for executor in ("gpu-reactor", "io-uring"):
        node.start_gard(f'[executor]\nkind = "{executor}"\n')
        node.garctl("plan", "set", PLAN)
        print(f"{executor}: {beside(node, attack)}")
        node.stop_gard()


@test
def forged_rings_without_end_wake_and_delay_within_bounds(node):
    attack_with(node, ring_without_end)


@test
def forged_request_flags_without_end_wake_and_delay_within_bounds(node):
    attack_with(node, set_every_flag_without_end)


@test
def request_flags_cleared_without_end_lose_no_wait(node):
    attack_with(node, clear_every_flag_without_end)


@test
def futex_wakes_without_end_wake_and_delay_within_bounds(node):
    attack_with(node, wake_without_end)


@test
def holes_under_the_doorbell_without_end_lose_no_wait(node):
    attack_with(node, punch_without_end)


@test
def hole_under_the_doorbell_is_told_and_filled(node):
    node.start_gard()
    node.garctl("plan", "set", PLAN)
    with Victim(node) as victim:
        with Hostile(node.socket) as peer:
            peer.greet()
            require(punch(peer.fds["doorbell"], 4096), "a hole")
            require(not any(peer.map("doorbell")[64:72]), "the canary is gone")
        late = node.client("late")
        for _ in range(10):
            answer = late.ask("wait 2")
            require(answer.get("right") is True and answer["delegated"] == 1, answer)
        with Hostile(node.socket) as peer:
            peer.greet()
            require(any(peer.map("doorbell")[64:72]), "the canary is back")
        log = (node.directory / "gard-1.log").read_text(encoding="utf-8")
        require("punched a hole" in log, log)
        late.close()
        print(f"1 hole, told and filled; {victim.check()}")
