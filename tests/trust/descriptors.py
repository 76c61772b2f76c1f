"""Descriptors: those that gard never asked for, those that it gives, and what it does without."""

import errno
import os
import select
import socket
import struct
import subprocess
import time

from hostile import (CLOSED, ERROR, FRAME_BYTES, UNEXPECTED_DESCRIPTORS, Hostile, ask, cancel,
                     close_stream, error_of, hello, kind_of, open_stream, patiently, point, status,
                     wait)
from node import Skip, eventually, require, test
from victim import PLAN, Victim, descriptors_of, rss_kib

OPENS = 10_000


def one_of_each():
    """Descriptors of every kind, and what closes them."""
    reading, writing = os.pipe()
    pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    memory = os.memfd_create("hostile")
    poll = select.epoll()
    directory = os.open("/", os.O_RDONLY)
    null = os.open("/dev/null", os.O_RDWR)
    own = [reading, writing, pair[0].detach(), pair[1].detach(), memory, directory, null,
           os.dup(poll.fileno())]
    poll.close()
    return own


@test
def foreign_descriptors_are_closed_wherever_they_come(node):
    own = one_of_each()
    for executor in ("gpu-reactor", "io-uring"):
        node.start_gard(f'[executor]\nkind = "{executor}"\n')
        node.garctl("plan", "set", PLAN)
        before = descriptors_of(node.gard.pid)
        with Victim(node) as victim:
            sent = send_everywhere(node, own)
            print(f"{executor}: {sent} descriptors sent where none belongs; {victim.check()}")
        victim.client.close()
        eventually(lambda: descriptors_of(node.gard.pid) <= before, 5, "all of them are closed")
        node.stop_gard()
    for fd in own:
        os.close(fd)


def send_everywhere(node, own):
    before_hello = (hello(), ask(1, "{}"), b"", b"\0", b"x" * FRAME_BYTES)
    after_it = (open_stream(1), close_stream(1, 0, 1), wait((1, 1, 1, 0, 1)), cancel(1),
                point(1, "x"), status((1, 1, 0, 1)), ask(1, '{"op": "version"}'),
                struct.pack("<HHI8x", 17, 0, 16), struct.pack("<HHI", 20, 0, 8),
                struct.pack("<HHI", 2, 0, 8), b"")
    sent = 0
    for greeted, messages in ((False, before_hello), (True, after_it)):
        for message in messages:
            for count in (1, len(own), 100, 253):
                with Hostile(node.socket) as peer:
                    if greeted:
                        peer.greet()
                    fds = (own * 253)[:count]
                    peer.send(message, fds)
                    sent += count
                    data = peer.next(ERROR)
                    code, fatal = error_of(data)
                    require(data == b"" or fatal, message[:8], count, code, fatal)
                    if count <= 5 and len(message) > 8 and kind_of(message) in (1, 4, 6, 10, 18):
                        require(code == UNEXPECTED_DESCRIPTORS, message[:8], count, code)
    # A socket in flight inside a socket in flight: the kernel's own garbage, not gard's.
    with Hostile(node.socket) as peer:
        peer.greet()
        peer.send(cancel(1), [peer.socket.fileno()] * 3)
        require(error_of(peer.next(ERROR)) == (UNEXPECTED_DESCRIPTORS, True))
    return sent + 3


@test
def ten_thousand_streams_opened_and_closed_leave_nothing(node):
    node.start_gard()
    node.garctl("plan", "set", PLAN)
    with Victim(node) as victim, Hostile(node.socket) as peer:
        peer.greet()
        fds, memory = descriptors_of(node.gard.pid), rss_kib(node.gard.pid)
        for cookie in range(OPENS):
            stream, generation, *_ = peer.open(cookie)
            peer.send(close_stream(cookie, stream, generation))
            require(kind_of(peer.next(CLOSED, ERROR)) == CLOSED)
        grown = rss_kib(node.gard.pid) - memory
        require(descriptors_of(node.gard.pid) == fds, "no page was added")
        require(grown < 4096, "gard grew by", grown, "KiB")
        require(node.status()["streams"] == 1, node.status()["streams"])
        print(f"{OPENS} opens and closes, gard grew by {grown} KiB; {victim.check()}")


@test
def ten_thousand_connections_leave_nothing(node):
    for executor in ("gpu-reactor", "io-uring"):
        node.start_gard(f'[executor]\nkind = "{executor}"\n')
        node.garctl("plan", "set", PLAN)
        fds = descriptors_of(node.gard.pid)
        with Victim(node) as victim:
            for i in range(200):
                connect_once(node, i)
            memory = rss_kib(node.gard.pid)
            for i in range(OPENS // 2):
                connect_once(node, i)
            said = victim.check()
        victim.client.close()
        eventually(lambda: descriptors_of(node.gard.pid) <= fds, 5, "descriptors are back")
        grown = rss_kib(node.gard.pid) - memory
        require(grown < 4096, "gard grew by", grown, "KiB")
        log = (node.directory / f"gard-{node.logs}.log").stat().st_size
        require(node.status()["clients"] == 0)
        print(f"{executor}: {OPENS // 2} connections, gard grew by {grown} KiB, "
              f"its log has {log} bytes; {said}")
        node.stop_gard()


def connect_once(node, number):
    """Some are greeted, some say nothing, some break the protocol."""
    with patiently(node.socket) as peer:
        if number % 4 == 0:
            peer.greet(ring=number % 8 == 0)
            peer.open()
        elif number % 4 == 1:
            peer.send(b"\xff" * 16)
        elif number % 4 == 2:
            peer.send(hello())


@test
def client_that_never_reads_is_bounded_then_dropped(node):
    for executor in ("gpu-reactor", "io-uring"):
        node.start_gard(f'[executor]\nkind = "{executor}"\n[limits]\n'
                        'unread_bytes_per_client = "64KiB"\n')
        node.garctl("plan", "set", PLAN)
        memory = rss_kib(node.gard.pid)
        with Victim(node) as victim:
            kills = 0
            for _ in range(20):
                with Hostile(node.socket) as peer:
                    peer.greet()
                    stream, generation, *_ = peer.open()
                    leave_completions_unread(peer, stream, generation)
                    kills += eventually(lambda peer=peer: dropped_by_now(peer), 5, "it is dropped")
            asked = 0
            for _ in range(5):
                with Hostile(node.socket) as peer:
                    peer.greet()
                    asked += asks_until_it_is_not_read(peer)
            grown = rss_kib(node.gard.pid) - memory
            require(grown < 32 << 10, "gard grew by", grown, "KiB")
            print(f"{executor}: 20 clients that read no completion, {kills} dropped; 5 that read no "
                  f"answer, not read from after {asked} requests; gard grew by {grown} KiB; "
                  f"{victim.check()}")
        victim.client.close()
        eventually(lambda: node.status()["clients"] == 0, 5, "all of them are gone")
        node.stop_gard()


def leave_completions_unread(peer, stream, generation):
    """As many waits as it may have, all of them done by one store."""
    for begin in range(0, 4096, 64):
        peer.send(wait(*((begin + i, 1 + begin + i, peer.plan_generation, stream, generation)
                         for i in range(64))))
    struct.pack_into("<Q", peer.map("lines"), 0, 2**62)
    struct.pack_into("<Q", peer.map("doorbell"), 8 * (peer.client_id % 8), 2**63 + 1)


def asks_until_it_is_not_read(peer):
    """Requests that gard took before it took no more."""
    peer.socket.settimeout(0.2)
    for number in range(20_000):
        try:
            if not peer.send((ask(number, '{"op": "status"}'), open_stream(number))[number % 2]):
                return number
        except (TimeoutError, BlockingIOError):
            return number
    require(False, "gard reads for ever what it cannot answer")
    return 0


def dropped_by_now(peer):
    poll = select.poll()
    poll.register(peer.socket, select.POLLHUP)
    return any(events & select.POLLHUP for _, events in poll.poll(0))


@test
def full_pipe_and_full_ring_hold_up_nobody(node):
    for executor in ("gpu-reactor", "io-uring"):
        node.start_gard(f'[executor]\nkind = "{executor}"\n')
        node.garctl("plan", "set", PLAN)
        with Victim(node) as victim, Hostile(node.socket) as peer:
            peer.greet(ring=True)
            filled = fill(peer.fds["pipe"])
            stream, generation, *_ = peer.open()
            ring, bell = peer.map("ring"), peer.map("doorbell")
            entries = peer.ring_entries
            struct.pack_into("<Q", peer.map("lines"), 0, 2**62)
            rounds = 30
            for done in range(rounds):
                for slot in range(entries):
                    struct.pack_into("<QQQQIIII", ring, 4096 + 8 * entries + 192 * slot, 1 + done,
                                     0, 0, peer.plan_generation, stream, generation, 0, 0)
                    struct.pack_into("<HH", ring, 4096 + 4 * slot, slot, 1)
                struct.pack_into("<I", ring, 192, 3)  # wants to be woken both ways, and never reads
                struct.pack_into("<Q", ring, 0, (done + 1) * entries)
                bell[128 + peer.request_flag] = 1
                peer.send(struct.pack("<HHI", 20, 0, 8))
                ended = (done + 1) * entries
                eventually(lambda ended=ended: struct.unpack_from("<Q", ring, 128)[0] >= ended, 5,
                           "the waits by ring end")
            print(f"{executor}: {filled} bytes in the pipe, {rounds * entries} waits ended into a "
                  f"ring that nobody reads; {victim.check()}")
        victim.client.close()
        node.stop_gard()


def fill(pipe):
    """By the client's own way to the end that is gard's."""
    try:
        writing = os.open(f"/proc/self/fd/{pipe}", os.O_WRONLY | os.O_NONBLOCK)
    except OSError as failure:
        require(failure.errno in (errno.EACCES, errno.EPERM), failure)
        return 0
    filled = 0
    try:
        while True:
            filled += os.write(writing, b"x" * 4096)
    except BlockingIOError:
        pass
    os.close(writing)
    return filled


@test
def garctl_is_served_though_clients_took_every_descriptor(node):
    if subprocess.run(["prlimit", "--version"], capture_output=True, check=False).returncode != 0:
        raise Skip("prlimit is not there")
    node.start_gard(before=("prlimit", "--nofile=64:64"))
    node.garctl("plan", "set", PLAN)
    peers = []
    for _ in range(100):
        try:
            peer = Hostile(node.socket, patience_s=0.5)
            peers.append(peer)
            peer.greet(ring=True)
        except OSError:
            pass
    held = descriptors_of(node.gard.pid)
    served = 0
    for _ in range(20):
        require(node.garctl("status", check=False).returncode == 0, "garctl is served,", served)
        served += 1
    for peer in peers:
        peer.end()
    eventually(lambda: node.status()["clients"] == 0, 5, "the clients are gone")
    with Victim(node) as victim:
        time.sleep(0.2)
        print(f"{held} of 64 descriptors in use, garctl served {served} times of 20; afterwards "
              f"{victim.check()}")


@test
def ring_that_fails_while_gard_runs_ends_it_with_a_status_of_its_own(node):
    failure = node.directory / "the ring fails"
    failing = (node.build / "tests/failing_ring", failure)
    tried = node.run(*failing, "/bin/true")
    if tried.returncode == 77:
        raise Skip(tried.stderr.strip())
    node.start_gard('[executor]\nkind = "io-uring"\n', before=failing)
    if node.status()["executor"]["running"] != "io-uring":
        raise Skip("this host has no io_uring")
    node.garctl("plan", "set", PLAN)
    client = node.client("victim")
    require(client.ask("wait 5").get("right") is True)
    failure.touch()
    for _ in range(3):
        answer = client.ask("wait 20")
        require(answer.get("right") is True, answer)
    require(node.gard.wait(10) == 71, "gard's exit status:", node.gard.poll())
    log = (node.directory / "gard-1.log").read_text(encoding="utf-8")
    require("io_uring_enter" in log, log)
    node.start_gard('[executor]\nkind = "io-uring"\n')
    client.close()
    print("the ring failed once: exit status 71, 3 waits ended right without gard")
