"""What one client and one user may hold, for how long, and what their questions may cost others."""

import json
import os
import struct
import time

from access import GARD_GROUP, MEMBER, Attacker, as_user, gard_with_groups
from descriptors import dropped_by_now, leave_completions_unread
from hostile import (ERROR, HANDSHAKE_TIMEOUT, LIMIT_PAGES, LIMIT_PER_USER, LIMIT_STREAMS,
                     LIMIT_WAITS, WELCOME, Hostile, ask, error_of, kind_of, open_stream, wait)
from node import eventually, require, test
from victim import PLAN, Victim

SMALL = """
[limits]
clients_per_user = 6
streams_per_client = 20
streams_per_user = 30
waits_per_client = 25
waits_per_user = 40
"""


def refusals(peer, frames):
    """Sends each, and reads meanwhile; the codes of the errors that come, by how often."""
    counts = {}
    for data in [*frames, None]:
        if data:
            peer.send(data)
        while peer.readable(0 if data else 0.3):
            code, _ = error_of(peer.receive())
            if code is not None:
                counts[code] = counts.get(code, 0) + 1
    return counts


@test
def quotas_of_a_client_and_of_a_user_refuse_them_and_nobody_else(node):
    node.start_gard(SMALL)
    node.garctl("plan", "set", PLAN)
    with Victim(node) as victim:
        peers = []
        for _ in range(5):  # with the victim 6 of this user
            peer = Hostile(node.socket)
            require(kind_of(peer.greet()) == WELCOME)
            peers.append(peer)
        with Hostile(node.socket) as peer:
            require(error_of(peer.next(ERROR)) == (LIMIT_PER_USER, True))
        streams = refusals(peers[0], [open_stream(c) for c in range(25)])
        require(streams == {LIMIT_STREAMS: 5}, "streams of a client:", streams)
        streams = refusals(peers[1], [open_stream(c) for c in range(20)])
        require(streams == {LIMIT_PER_USER: 11}, "streams of a user:", streams)
        asked = [wait((c, 9, peers[0].plan_generation, c % 20, 1)) for c in range(30)]
        waits = refusals(peers[0], asked)
        require(waits == {LIMIT_WAITS: 5}, "waits of a client:", waits)
        asked = [wait((c, 9, peers[1].plan_generation, c % 9, 1)) for c in range(20)]
        waits = refusals(peers[1], asked)
        require(waits.keys() == {LIMIT_PER_USER}, "waits of a user:", waits)
        print(f"1 connection, 16 streams, {5 + sum(waits.values())} waits too many, all refused; "
              f"{victim.check()}")
        for peer in peers:
            peer.end()
        eventually(lambda: node.status()["clients"] == 1, 5, "what they held is back")


@test
def quota_of_pages_refuses_the_stream_that_needs_another(node):
    node.start_gard("[limits]\npages_per_client = 2\n")
    with Hostile(node.socket) as peer:
        peer.greet()
        refused = refusals(peer, [open_stream(c) for c in range(1030)])
        require(set(refused) == {LIMIT_PAGES} and refused[LIMIT_PAGES] == 1030 - 1024, refused)
        print(f"2 pages, 1024 streams, {refused[LIMIT_PAGES]} refused")


@test
def what_a_users_clients_leave_unread_is_bounded_together(node):
    node.start_gard('[limits]\nunread_bytes_per_user = "512KiB"\n')
    node.garctl("plan", "set", PLAN)
    with Victim(node) as victim:
        peers = []
        for _ in range(12):
            peer = Hostile(node.socket)
            peer.greet()
            stream, generation, *_ = peer.open()
            leave_completions_unread(peer, stream, generation)
            peers.append(peer)
        eventually(lambda: any(map(dropped_by_now, peers)), 5, "somebody is dropped")
        log = (node.directory / "gard-1.log").read_text(encoding="utf-8")
        require("bytes of messages not read" in log, log)
        dropped = sum(map(dropped_by_now, peers))
        print(f"12 clients of a user leave much unread, {dropped} dropped; {victim.check()}")
        for peer in peers:
            peer.end()


held = []  # open until the process ends


def hold_what_a_user_may(path):
    """The code of the connection that is refused, and how many are held."""
    peers = [Hostile(path) for _ in range(6)]
    for peer in peers:
        peer.greet()
    held.extend(peers)
    with Hostile(path) as one_more:
        return error_of(one_more.next(ERROR))[0], len(peers)


@test
def what_one_user_holds_is_not_taken_from_another(node):
    gard_with_groups(node, SMALL)
    node.garctl("plan", "set", PLAN)
    code, _ = as_user(MEMBER, GARD_GROUP, lambda: hold_what_a_user_may(node.socket))
    require(code == LIMIT_PER_USER, code)

    def at_its_limits():
        kept = hold_what_a_user_may(node.socket)
        time.sleep(600)
        return kept

    with Attacker(at_its_limits, (MEMBER, GARD_GROUP)):
        eventually(lambda: node.status()["clients"] == 6, 5, "the user is at its limits")
        with Victim(node) as victim:
            time.sleep(0.3)
            print(f"one user at its limits; another's {victim.check()}")


@test
def silence_is_ended_by_deadlines(node):
    node.start_gard()
    node.garctl("plan", "set", PLAN)
    with Victim(node) as victim:
        silent = [Hostile(node.socket) for _ in range(100)]
        began = time.monotonic()
        for peer in silent:
            require(error_of(peer.next(ERROR)) == (HANDSHAKE_TIMEOUT, True))
            require(peer.receive() == b"", "the connection ends")
        took = time.monotonic() - began
        # Who asks and never says hello has a second from its last answer.
        with Hostile(node.socket) as peer:
            for _ in range(3):
                require(json.loads(peer.answer('{"op": "version"}'))["ok"])
                time.sleep(0.4)
            require(error_of(peer.next(ERROR)) == (HANDSHAKE_TIMEOUT, True))
        for peer in silent:
            peer.end()
        require(node.status()["clients"] == 1)
        print(f"100 silent connections ended after {took:.1f} s, and one that only asked; "
              f"{victim.check()}")


# ---- questions

STREAMS = 60_000
OF_ONE_CLIENT = 4000
ASKERS = 8


def open_many(node):
    """Clients with 60,000 streams in all."""
    peers = []
    for _ in range(STREAMS // OF_ONE_CLIENT):
        peer = Hostile(node.socket, patience_s=20)
        peer.greet()
        for begin in range(0, OF_ONE_CLIENT, 100):
            for cookie in range(begin, begin + 100):
                peer.send(open_stream(cookie))
            for _ in range(100):
                while kind_of(peer.receive()) != 5:
                    pass
        peers.append(peer)
    return peers


def ask_without_end(node):
    """As many connections as ask at a time, each asking again when it was answered."""
    for _ in range(ASKERS - 1):
        if os.fork() == 0:
            break
    peer = Hostile(node.socket, patience_s=60)
    number = 0
    while True:
        number += 1
        if not peer.send(ask(number, '{"op": "streams"}')):
            peer.end()
            peer = Hostile(node.socket, patience_s=60)
            continue
        whole = 0
        while True:
            data = peer.receive()
            if not data or error_of(data)[0]:
                break
            whole += len(data) - 24
            if whole == struct.unpack_from("<I", data, 20)[0]:
                break


def handshakes(node, count):
    """How long each took, in ms."""
    took = []
    for _ in range(count):
        began = time.monotonic()
        with Hostile(node.socket, patience_s=20) as peer:
            require(kind_of(peer.greet()) == WELCOME)
        took.append((time.monotonic() - began) * 1000)
    return sorted(took)


@test
def questions_without_end_hold_up_no_handshake_and_no_wait(node):
    node.start_gard()
    node.garctl("plan", "set", PLAN)
    peers = open_many(node)
    with Victim(node) as victim:
        quiet = handshakes(node, 100)
        with Attacker(lambda: ask_without_end(node)):
            time.sleep(0.3)
            busy = handshakes(node, 100)
            client = node.client("newcomer")  # falls back to no gard after a second
            require(client.connected["mode"] == 1, client.connected)
            began = time.monotonic()
            require(node.garctl("status").returncode == 0)
            asked_ms = (time.monotonic() - began) * 1000
        print(f"{ASKERS} connections ask for {STREAMS} streams: a handshake takes {quiet[50]:.2f} -> "
              f"{busy[50]:.2f} ms (p50), {quiet[-1]:.1f} -> {busy[-1]:.1f} ms (most); garctl status "
              f"{asked_ms:.0f} ms; {victim.check()}")
    for peer in peers:
        peer.end()
