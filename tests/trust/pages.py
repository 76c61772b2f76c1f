"""The memory that gard shares: sealed as promised, and trusted for nothing while it is written to."""

import ctypes
import errno
import fcntl
import mmap
import os
import random
import struct
import time

from hostile import ERROR, OPENED, PAGE, Hostile, error_of, kind_of, open_stream, wait
from node import eventually, require, test
from strangers import punch
from victim import PLAN, Victim, descriptors_of

F_ADD_SEALS, F_GET_SEALS = 1033, 1034
SEAL, SHRINK, GROW, WRITE, FUTURE_WRITE, EXEC = 1, 2, 4, 8, 16, 32
SIZE_IS_SEALED = SEAL | SHRINK | GROW

SCRIBBLE_S = 1.5


def refused(act, *expected):
    try:
        act()
    except OSError as failure:
        require(failure.errno in expected, "errno", failure.errno, errno.errorcode[failure.errno])
        return 1
    require(False, "an act that must be refused was not:", act)
    return 0


def further_lines_page(peer):
    """Opens streams until a second page of lines comes."""
    for cookie in range(10_000):
        peer.send(open_stream(cookie))
        if kind_of(peer.next(PAGE, OPENED)) == PAGE:
            peer.fds["further lines"] = peer.came.pop()
            require(kind_of(peer.next(OPENED)) == OPENED)
            return
    require(False, "no second page came")


def attacks_on_size_and_seals(fd):
    """How many of them were refused; all must be."""
    size = os.fstat(fd).st_size
    count = 0
    for other in (0, size // 2, size - 1, size + 1, size * 2):
        count += refused(lambda other=other: os.ftruncate(fd, other), errno.EPERM)
    for seal in (SEAL, SHRINK, GROW, WRITE, FUTURE_WRITE):
        count += refused(lambda seal=seal: fcntl.fcntl(fd, F_ADD_SEALS, seal), errno.EPERM)
    again = os.open(f"/proc/self/fd/{fd}", os.O_RDWR)
    count += refused(lambda: os.ftruncate(again, 0), errno.EPERM)
    count += refused(lambda: os.pwrite(again, b"x", size), errno.EPERM)  # past the end: it grows
    os.close(again)
    return count


def attacks_on_the_state_page(fd):
    size = os.fstat(fd).st_size
    count = refused(lambda: mmap.mmap(fd, size), errno.EPERM, errno.EACCES)
    count += refused(lambda: os.pwrite(fd, b"x", 0), errno.EPERM)
    again = os.open(f"/proc/self/fd/{fd}", os.O_RDWR)
    count += refused(lambda: mmap.mmap(again, size), errno.EPERM, errno.EACCES)
    os.close(again)
    require(not punch(fd, size), "no hole under the state page")
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    at = ctypes.c_void_p(libc.mmap(None, ctypes.c_size_t(size), mmap.PROT_READ, mmap.MAP_SHARED, fd,
                                   ctypes.c_long(0)))
    both = mmap.PROT_READ | mmap.PROT_WRITE
    require(libc.mprotect(at, ctypes.c_size_t(size), both) != 0, "it stays read-only")
    remove = 9  # MADV_REMOVE
    require(libc.madvise(at, ctypes.c_size_t(size), remove) != 0, "nothing is removed from it")
    return count + 3


@test
def every_shared_page_is_sealed_and_no_seal_gives_way(node):
    node.start_gard()
    node.garctl("plan", "set", PLAN)
    with Victim(node) as victim, Hostile(node.socket) as peer, Hostile(node.socket) as other:
        peer.greet(ring=True)
        other.greet("other", ring=True)
        further_lines_page(peer)
        require(set(peer.fds) == {"lines", "doorbell", "state", "ring", "pipe", "further lines"})
        pages = {name: fd for name, fd in peer.fds.items() if name != "pipe"}
        count = 0
        for name, fd in pages.items():
            seals = fcntl.fcntl(fd, F_GET_SEALS)
            wanted = SIZE_IS_SEALED | (FUTURE_WRITE if name == "state" else 0)
            require(seals & wanted == wanted, name, "has seals", bin(seals))
            require(not seals & WRITE, name, bin(seals))
            require(seals & EXEC or not (os.fstat(fd).st_mode & 0o111), name, "can be executed")
            count += attacks_on_size_and_seals(fd)
        count += attacks_on_the_state_page(peer.fds["state"])
        inode = {name: os.fstat(fd).st_ino for name, fd in peer.fds.items()}
        of_other = {name: os.fstat(fd).st_ino for name, fd in other.fds.items()}
        shared = {name for name in of_other if of_other[name] == inode[name]}
        require(shared == {"doorbell", "state"}, "what two clients share:", shared)
        print(f"{len(pages)} pages, {count} acts refused; {victim.check()}")


# ---- scribbling


def scribble_on(page, chance):
    """Some bytes, a field, or the whole page."""
    size = len(page)
    way = chance.randrange(6)
    if way == 0:
        page[:] = chance.randbytes(size)
    elif way == 1:
        page[:] = bytes([chance.randrange(256)]) * size
    else:
        for _ in range(chance.randrange(1, 64)):
            at = chance.randrange(size // 8) * 8
            small = chance.choice((0, 1, 2, 64, 2**16 - 1, 2**32 - 1, 2**63, 2**64 - 1))
            value = chance.choice((small, chance.getrandbits(64), chance.randrange(4096)))
            page[at:at + 8] = struct.pack("<Q", value)


def announce(peer, chance):
    """The rings are to be looked at: by the flag and bell, and by kicks."""
    page = peer.maps[0]
    page[128 + peer.request_flag] = 1
    struct.pack_into("<Q", page, 8 * (peer.client_id % 8), chance.getrandbits(64) | 1)
    peer.send(struct.pack("<HHI", 20, 0, 8))


def tail_of(ring, value):
    """submit_tail, a little ahead: what lies in the ring is taken for requests."""
    struct.pack_into("<Q", ring, 0, value)


def scribbler(node, seed, chance, until):
    """One life after the other; each ends when gard throws it out. Prints its counts."""
    lives = thrown_out = scribbles = 0
    while time.monotonic() < until:
        lives += 1
        with Hostile(node.socket) as peer:
            if not peer.greet(ring=True) or not peer.fds:
                continue
            bell, ring, lines = (peer.map(n) for n in ("doorbell", "ring", "lines"))
            stream, generation, *_ = peer.open()
            peer.send(wait(*((c, 5, peer.plan_generation, stream, generation) for c in range(8))))
            taken = 0
            own = [lines] if lives % 3 == 0 else [ring, lines, bell]
            for _ in range(200):
                if time.monotonic() > until:
                    break
                scribble_on(chance.choice(own), chance)
                scribbles += 1
                if chance.randrange(3) == 0:
                    taken += chance.randrange(4)
                    tail_of(ring, taken)
                announce(peer, chance)
                if not drained(peer):
                    thrown_out += 1
                    break
    return f"seed {seed}: {lives} lives, {thrown_out} thrown out, {scribbles} scribbles"


def drained(peer):
    """Reads what gard said; False where it has closed."""
    while peer.readable():
        data = peer.receive()
        if not data or error_of(data)[1]:
            return False
    return True


def seed_of_this_run():
    return int(os.environ.get("GAR_TRUST_SEED") or random.SystemRandom().getrandbits(32))


@test
def every_page_scribbled_at_random_in_use_harms_its_writer_alone(node):
    seed = seed_of_this_run()
    print(f"GAR_TRUST_SEED={seed} repeats it", flush=True)
    for executor in ("gpu-reactor", "io-uring"):
        node.start_gard(f'[executor]\nkind = "{executor}"\n')
        node.garctl("plan", "set", PLAN)
        before = descriptors_of(node.gard.pid)
        with Victim(node) as victim:
            said = scribbler(node, seed, random.Random(seed), time.monotonic() + SCRIBBLE_S)
            print(f"{executor}: {said}; {victim.check()}")
            require(node.gard.poll() is None, "gard lives")
        victim.client.close()
        eventually(lambda: descriptors_of(node.gard.pid) <= before, 5, "its descriptors are back")
        now = node.status()
        require(now["clients"] == 0 and now["streams"] == 0 and now["waits"]["pending"] == 0, now)
        node.stop_gard()


# ---- requests by ring that are none


def submission(ring, entries, index, slot, op):
    struct.pack_into("<HH", ring, 4096 + 4 * (index % entries), slot, op)


@test
def requests_by_ring_that_break_the_protocol_end_their_sender_alone(node):
    node.start_gard()
    node.garctl("plan", "set", PLAN)

    def no_such_slot(ring, entries):
        submission(ring, entries, 0, entries, 1)
        tail_of(ring, 1)

    def no_such_op(ring, entries):
        submission(ring, entries, 0, 0, 77)
        tail_of(ring, 1)

    def too_far_ahead(ring, entries):
        tail_of(ring, entries + 1)

    def backwards(ring, _):
        tail_of(ring, 2**64 - 1)

    def outcomes_ahead(ring, _):
        struct.pack_into("<Q", ring, 8, 61)

    def reserved_field(ring, entries):
        struct.pack_into("<Q", ring, 4096 + 8 * entries + 48, 1)
        submission(ring, entries, 0, 0, 1)
        tail_of(ring, 1)

    def point_of_no_number(ring, entries):
        struct.pack_into("<I", ring, 4096 + 8 * entries + 40, 257)
        submission(ring, entries, 0, 0, 3)
        tail_of(ring, 1)

    def nameless_point(ring, entries):
        struct.pack_into("<I", ring, 4096 + 8 * entries + 40, 1)
        submission(ring, entries, 0, 0, 3)
        tail_of(ring, 1)

    breaks = (no_such_slot, no_such_op, too_far_ahead, backwards, outcomes_ahead, reserved_field,
              point_of_no_number, nameless_point)
    with Victim(node) as victim:
        for broken in breaks:
            with Hostile(node.socket) as peer:
                peer.greet(ring=True)
                ring = peer.map("ring")
                bell = peer.map("doorbell")
                broken(ring, peer.ring_entries)
                bell[128 + peer.request_flag] = 1
                peer.send(struct.pack("<HHI", 20, 0, 8))
                require(error_of(peer.next(ERROR)) == (0x10, True), broken.__name__)
                require(peer.receive() == b"", "the connection ends")
        # A slot that is in flight, named again.
        with Hostile(node.socket) as peer:
            peer.greet(ring=True)
            stream, generation, *_ = peer.open()
            ring, bell = peer.map("ring"), peer.map("doorbell")
            for index in range(2):
                struct.pack_into("<QQQQIIII", ring, 4096 + 8 * peer.ring_entries, 1000, 0, 0,
                                 peer.plan_generation, stream, generation, 0, 0)
                submission(ring, peer.ring_entries, index, 0, 1)
            tail_of(ring, 2)
            bell[128 + peer.request_flag] = 1
            peer.send(struct.pack("<HHI", 20, 0, 8))
            require(error_of(peer.next(ERROR)) == (0x10, True), "a slot in flight")
        print(f"{len(breaks) + 1} broken requests, as many clients thrown out; {victim.check()}")
