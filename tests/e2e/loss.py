"""Lost stores, lost devices, lost owners, lost and stuck gards: what was waited for still ends right."""

import os
import signal
import time

from node import Failure, eventually, require, test

FLAG = "flag:park_us=100,backstop_us=10000"
SHIPPED = FLAG + "+predict:margin_us=200,min_sleep_us=50,max_sleep_us=50000,window=8"


def ready_client(node, streams):
    """A client whose waits go through gard."""
    client = node.client(streams=streams)
    require(client.connected["mode"] == 1, "through gard:", client.connected)
    return client


@test
def lost_store_ends_by_the_backstop(node):
    node.start_gard()
    node.garctl("plan", "set", FLAG)
    client = ready_client(node, 1)
    require(client.ask("fault lost 0")["error"] == 0)
    answer = client.ask("wait 20")
    require(answer.get("right") is True and answer["kind"] == 3, answer)
    require(answer["backstop_queries"] >= 1, answer)
    require(answer["wait_ns"] < 2_000_000_000, answer)
    require(node.status()["reactor"]["backstop_probes"] >= 1, node.status()["reactor"])
    require(client.ask("wait 5").get("right") is True, "the next wait")
    client.close()


@test
def early_store_never_makes_a_wait_succeed_early(node):
    node.start_gard()
    node.garctl("plan", "set", FLAG)
    client = ready_client(node, 1)
    require(client.ask("fault early 0")["error"] == 0)
    answer = client.ask("wait 200")
    require(answer.get("right") is True, answer)
    require(answer["wait_ns"] > 150_000_000, answer)
    eventually(lambda: node.status()["waits"]["early_word"] >= 1, 2, "gard counts the early word")
    client.close()


@test
def device_error_ends_the_wait_with_the_calls_name(node):
    node.start_gard()
    node.garctl("plan", "set", FLAG)
    client = ready_client(node, 1)
    require(client.ask("fault device 719")["error"] == 0)
    answer = client.ask("wait 30")
    require(answer["error"] == 8 and answer["name"] == "Backend", answer)
    require("719" in answer["text"] and "failed with status" in answer["text"], answer)
    require(len(answer["text"].split(" failed")[0]) > 0, "the call's name:", answer)
    eventually(lambda: node.status()["waits"]["failed"] == 1, 2, "gard counts the failed wait")


@test
def killed_owner_is_counted_and_its_waits_are_gone(node):
    node.start_gard()
    other = ready_client(node, 1)
    client = ready_client(node, 10)
    require(client.ask("start 100 500")["error"] == 0)
    eventually(lambda: node.status()["waits"]["pending"] == 100, 5, "100 waits are pending")
    client.kill()

    def gone():
        waits = node.status()["waits"]
        return waits["pending"] == 0 and waits["owner_gone"] == 100
    eventually(gone, 2, "the owner's waits are gone and counted")
    require(node.status()["clients"] == 1)
    require(other.ask("wait 5").get("right") is True, "nobody else is touched")


@test
def killed_gard_leaves_100_waits_that_end_right(node):
    gard = node.start_gard()
    client = ready_client(node, 100)
    require(client.ask("start 100 700")["error"] == 0)
    eventually(lambda: node.status()["waits"]["pending"] == 100, 5, "100 waits are pending")
    gard.kill()
    gard.wait()
    answer = client.ask("take 15000")
    require(answer["taken"] == 100 and answer["right"] == 100, answer)
    require(answer["in_process"] == 100, answer)

    node.start_gard()

    def served():
        wait = client.ask("wait 20")
        require(wait.get("right") is True, wait)
        return wait["delegated"] == 1
    eventually(served, 10, "the next waits go through the new gard")
    require(node.status()["waits"]["completed"] >= 1)
    client.close()


def stopped(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] == "T"


@test
def stopped_gard_holds_up_no_wait_and_no_connect(node):
    gard = node.start_gard()
    client = ready_client(node, 20)
    require(client.ask("start 20 300")["error"] == 0)
    eventually(lambda: node.status()["waits"]["pending"] == 20, 5, "20 waits are pending")
    os.kill(gard.pid, signal.SIGSTOP)
    eventually(lambda: stopped(gard.pid), 2, "gard is stopped")
    answer = client.ask("take 15000")
    require(answer["taken"] == 20 and answer["right"] == 20, answer)
    began = time.monotonic()
    late = node.client("late", 1)
    took = time.monotonic() - began
    require(late.connected["mode"] == 0, "in-process:", late.connected)
    require(late.connected["connect_ms"] <= 1500, late.connected, took)
    require(late.ask("wait 5").get("right") is True, "a wait in-process")
    silent = node.garctl("status", check=False)
    require(silent.returncode == 3 and str(node.control) in silent.stderr, silent)
    require(stopped(gard.pid), "gard was stopped all the while")
    os.kill(gard.pid, signal.SIGCONT)
    require(client.ask("wait 5").get("right") is True, "a wait afterwards")


@test
def sigterm_ends_pending_waits_in_process(node):
    gard = node.start_gard()
    client = ready_client(node, 10)
    require(client.ask("start 10 400")["error"] == 0)
    eventually(lambda: node.status()["waits"]["pending"] == 10, 5, "10 waits are pending")
    began = time.monotonic()
    gard.terminate()
    require(gard.wait(5) == 0, "exit status", gard.returncode)
    took = time.monotonic() - began
    if took >= 1:
        raise Failure(f"gard took {took} s to leave")
    answer = client.ask("take 10000")
    require(answer["taken"] == 10 and answer["right"] == 10, answer)


@test
def second_gard_on_the_same_socket_is_refused(node):
    node.start_gard()
    status, said = node.refused_gard(None)
    require(status == 75, "exit status", status, said)
    require("AlreadyRunning" in said or "another gard" in said, said)
    require(node.status()["pid"] == node.gard.pid)


@test
def stale_socket_is_replaced(node):
    node.start_gard().kill()
    node.gard.wait()
    require(node.socket.exists(), "the killed gard's socket is still there")
    node.start_gard()
    require(ready_client(node, 1).ask("wait 5").get("right") is True)
