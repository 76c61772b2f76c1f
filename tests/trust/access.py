"""Who may come in, and what who came in may ask for."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from hostile import PERMISSION_DENIED, Hostile
from node import Skip, eventually, require, test
from victim import PLAN, Victim

# Numbers that no account of a machine has.
MEMBER, STRANGER, ADMIN = 54321, 54322, 54323
GARD_GROUP, ADMIN_GROUP = 54331, 54332

# gard's own view of /etc/group: in a mount namespace of its own, so the machine's stays as it is.
WITH_GROUPS = """
mount --bind "$1" /etc/group || exit 77
shift
exec "$@"
"""


def as_user(uid, gid, act):
    """What act() returned, as JSON, in a child that is this user, with this group alone."""
    if os.geteuid() != 0:
        raise Skip("only root can become other users")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        status = 1
        try:
            os.setgroups([])
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)
            with os.fdopen(writing, "w", encoding="utf-8") as pipe:
                json.dump(act(), pipe)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    require(text, "user", uid, "ended without an answer")
    return json.loads(text)


class Attacker:
    """with Attacker(act): act() runs in a process of its own, with its children, until the end."""

    def __init__(self, act, user=None):
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                os.setpgid(0, 0)
                if user:
                    os.setgroups([])
                    os.setresgid(user[1], user[1], user[1])
                    os.setresuid(user[0], user[0], user[0])
                act()
                status = 0
            finally:
                os._exit(status)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        ended, status = os.waitpid(self.pid, os.WNOHANG)
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        if not ended:
            os.waitpid(self.pid, 0)
        require(not ended, "the attack ended by itself, with", status)


def may_connect(path, kind):
    with socket.socket(socket.AF_UNIX, kind) as peer:
        try:
            peer.connect(str(path))
        except PermissionError:
            return False
    return True


def doors(node):
    """Which of gard's sockets let the caller in: the clients', the one for control."""
    return [may_connect(node.socket, socket.SOCK_SEQPACKET),
            may_connect(node.control, socket.SOCK_STREAM)]


def gard_with_groups(node, config=None):
    """A gard on a machine that has gard's two groups, its sockets in directories of their own."""
    if os.geteuid() != 0:
        raise Skip("only root can give sockets to groups")
    open_to_all(node)
    groups = node.directory / "group"
    groups.write_text(Path("/etc/group").read_text(encoding="utf-8") +
                      f"gard:x:{GARD_GROUP}:\ngard-admin:x:{ADMIN_GROUP}:\n", encoding="utf-8")
    groups.chmod(0o644)
    before = ("unshare", "--mount", "sh", "-c", WITH_GROUPS, "sh", groups)
    tried = node.run(*before, "true")
    if tried.returncode != 0:
        raise Skip(f"this host makes no such namespace: {tried.stderr.strip()}")
    node.start_gard(config, before=before)


def open_to_all(node):
    """The way to the sockets is open; the sockets alone decide."""
    node.directory.chmod(0o755)


@test
def sockets_let_in_their_groups_and_nobody_else(node):
    gard_with_groups(node)
    entered = {
        "root": doors(node),
        "in gard": as_user(MEMBER, GARD_GROUP, lambda: doors(node)),
        "in gard-admin": as_user(ADMIN, ADMIN_GROUP, lambda: doors(node)),
        "in neither": as_user(STRANGER, STRANGER, lambda: doors(node)),
    }
    require(entered == {"root": [True, True], "in gard": [True, False],
                        "in gard-admin": [False, True], "in neither": [False, False]}, entered)
    for path, group in ((node.socket, GARD_GROUP), (node.control, ADMIN_GROUP)):
        there = path.stat()
        require((there.st_mode & 0o777, there.st_gid) == (0o660, group), path, oct(there.st_mode))
    print("4 users at 2 sockets: 4 times let in, 4 times refused")


@test
def sockets_without_groups_are_the_running_users_alone(node):
    open_to_all(node)
    node.start_gard()
    log = (node.directory / "gard-1.log").read_text(encoding="utf-8")
    if "SocketPrivate" not in log:
        raise Skip("this machine has gard's groups")
    require(log.count("SocketPrivate") == 2, "one warning a socket:", log)
    for path in (node.socket, node.control):
        require(path.stat().st_mode & 0o777 == 0o600, path, oct(path.stat().st_mode))
    require(doors(node) == [True, True])
    for gid in (STRANGER, GARD_GROUP, 0):
        entered = as_user(STRANGER, gid, lambda: doors(node))
        require(entered == [False, False], "group", gid, entered)
    print("3 strangers at 2 sockets: 6 times refused")


def answer_of(node, op):
    with Hostile(node.socket) as peer:
        peer.greet(f"user-{os.geteuid()}")
        for cookie in range(3):
            peer.open(cookie)
        return json.loads(peer.answer(json.dumps({"op": op})))


def result_of(node, op):
    return answer_of(node, op)["result"]


@test
def users_see_what_is_theirs_and_root_sees_all(node):
    gard_with_groups(node)
    node.garctl("plan", "set", "poll", "--client", "victim")
    client = node.client("victim", 2)  # root's
    seen = {op: as_user(MEMBER, GARD_GROUP, lambda op=op: result_of(node, op))
            for op in ("streams", "clients", "status", "points", "plan_show")}
    require({s["client"] for s in seen["streams"]["streams"]} == {f"user-{MEMBER}"}, seen)
    require({c["uid"] for c in seen["clients"]["clients"]} == {MEMBER}, seen["clients"])
    require(seen["status"]["clients"] == 1 and seen["status"]["streams"] == 3, seen["status"])
    require(not seen["points"]["points"], seen["points"])
    require(all(p["client"] is None for p in seen["plan_show"]["plans"]), seen["plan_show"])
    refused = as_user(MEMBER, GARD_GROUP, lambda: answer_of(node, "metrics"))
    require(refused["error"]["code"] == PERMISSION_DENIED, "the whole node's:", refused)
    require("gard_clients 2" in result_of(node, "metrics")["text"], "root sees the whole node's")
    everything = result_of(node, "clients")["clients"]
    require({c["name"] for c in everything} == {"victim", "user-0"}, everything)
    client.close()
    print("5 questions of a user: nothing of others in the answers")


@test
def clients_socket_changes_nothing_whoever_asks(node):
    node.start_gard()
    before = node.ask("plan", "show")
    refused = 0
    with Hostile(node.socket) as peer:
        for text in ('{"op": "plan_set", "text": "poll"}', '{"op": "plan_unset"}',
                     '{"op": "plan_set", "text": "poll", "client": "victim"}',
                     '{"op": "reload"}', '{"op": "reload", "replace": true}'):
            answer = json.loads(peer.answer(text))
            require(answer["ok"] is False and answer["error"]["code"] == PERMISSION_DENIED, answer)
            refused += 1
    require(node.ask("plan", "show") == before, "the plans are as before")
    print(f"{refused} changes asked for on the clients' socket, {refused} refused")


@test
def peer_without_a_visible_pid_is_served_and_its_death_noticed(node):
    before = ("unshare", "--pid", "--fork", "--kill-child")
    tried = node.run(*before, "true")
    if tried.returncode != 0:
        raise Skip(f"this host makes no such namespace: {tried.stderr.strip()}")
    node.start_gard(before=before)
    node.garctl("plan", "set", PLAN)
    with Victim(node) as victim:
        pids = [c["pid"] for c in node.ask("clients")["clients"]]
        require(pids == [0], "gard cannot see the client's pid:", pids)
        other = node.client("other", 4)
        require(node.status()["clients"] == 2)
        other.kill()
        eventually(lambda: node.status()["clients"] == 1, 5, "the other's death is noticed")
        require(node.status()["streams"] == 1, "its slots are back")
        print(victim.check())


# Connects, opens streams, forks a child that keeps the socket, and says so.
INHERITING = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from hostile import Hostile, wait
peer = Hostile(sys.argv[2])
peer.greet("inheriting")
for cookie in range(5):
    stream, generation, _, _ = peer.open(cookie)
    peer.send(wait((cookie, 1000, peer.plan_generation, stream, generation)))
child = os.fork()
if child == 0:
    sys.stdin.read()  # ends with the test
    os._exit(0)
print(child, flush=True)
time.sleep(600)
"""


@test
def death_of_a_process_is_noticed_though_a_child_holds_its_socket(node):
    for executor in ("gpu-reactor", "io-uring"):
        node.start_gard(f'[executor]\nkind = "{executor}"\n')
        node.garctl("plan", "set", PLAN)
        with Victim(node) as victim:
            owner = subprocess.Popen(  # pylint: disable=consider-using-with
                [sys.executable, "-c", INHERITING, Path(__file__).parent, node.socket],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            node.processes.append(owner)
            child = int(owner.stdout.readline())
            eventually(lambda: node.status()["waits"]["pending"] >= 5, 5, "its waits are pending")
            owner.send_signal(signal.SIGKILL)
            owner.wait()
            os.kill(child, 0)  # it lives, and holds the socket
            eventually(lambda: node.status()["clients"] == 1, 5, "its death is noticed")
            now = node.status()
            require(now["streams"] == 1 and now["waits"]["owner_gone"] == 5, now["waits"])
            owner.stdin.close()
            print(f"{executor}: 1 kill, 5 streams and 5 waits given back; {victim.check()}")
        node.stop_gard()
