"""gar-demo: every wait right, kinds as they happened, JSON as the schema says."""

import json
import os
import signal
import subprocess

from node import Skip, eventually, require, test

FLAG = "flag:park_us=100,backstop_us=10000"
KINDS = ("blocked", "immediate", "late", "parked")


def demo_json(node, *arguments, status=0, timeout=90):
    ended = node.demo(*arguments, "--json", timeout=timeout)
    require(ended.returncode == status, "exit status", ended.returncode, ended.stderr)
    node.validate("demo.schema.json", ended.stdout)
    return json.loads(ended.stdout), ended


def all_right(found, plans, waits):
    require(len(found["runs"]) == plans, "runs", len(found["runs"]))
    for run in found["runs"]:
        require(run["waits"] == waits and run["completed"] == waits and run["failed"] == 0, run)
        require(sum(run["kinds"].values()) == waits, run)
    require(found["spin"]["waits"] == waits, found["spin"])


def through_gard(node, found):
    # On a machine that is busy enough a wait's owner may lose patience with gard; most do not.
    for run in found["runs"]:
        require(run["in_process"] * 2 < run["waits"], run)
    require(found["word_wait"] == node.status()["word_wait"]["kind"], found["word_wait"])
    plans = node.ask("plan", "show")["plans"]
    require(all(plan["source"] != "runtime" for plan in plans), "the demo's plans stayed:", plans)


@test
def demo_with_sim_ends_right_in_all_four_kinds(node):
    node.start_gard()
    found, _ = demo_json(node, "--device", "sim", "--processes", "8", "--streams", "16",
                         "--waits", "20", timeout=280)
    all_right(found, 4, 8 * 16 * 20)
    through_gard(node, found)
    for kind in KINDS:
        require(sum(run["kinds"][kind] for run in found["runs"]) > 0, "no wait was", kind, found)
    block = found["runs"][0]
    require(block["plan"] == "block" and block["kinds"]["blocked"] == block["waits"], block)
    require(all(run["wake_us"]["p50"] >= 0 for run in found["runs"]), found)


@test
def demo_with_vulkan_ends_right(node):
    node.start_gard()
    ended = node.demo("--device", "vulkan", "--processes", "2", "--streams", "2", "--waits", "20",
                      "--json")
    if ended.returncode == 1 and "Unavailable" in ended.stderr:
        raise Skip(ended.stderr.strip())
    require(ended.returncode == 0, "exit status", ended.returncode, ended.stderr)
    node.validate("demo.schema.json", ended.stdout)
    found = json.loads(ended.stdout)
    require(found["device"] == "vulkan" and found["device_name"], found)
    all_right(found, 4, 2 * 2 * 20)
    through_gard(node, found)
    require(all(run["wake_us"] is None for run in found["runs"]), found)


def demo_over_fake_driver(node, device):
    node.environment["LD_LIBRARY_PATH"] = str(node.build / "tests/fake")
    node.start_gard()
    found, _ = demo_json(node, "--device", device, "--processes", "2", "--streams", "2", "--waits",
                         "20")
    require(found["device"] == device and "fake device" in found["device_name"], found)
    all_right(found, 4, 2 * 2 * 20)
    through_gard(node, found)
    block = found["runs"][0]
    require(block["kinds"]["blocked"] == block["waits"], block)


@test
def demo_with_cuda_over_the_fake_driver_ends_right(node):
    demo_over_fake_driver(node, "cuda")


@test
def demo_with_hip_over_the_fake_driver_ends_right(node):
    demo_over_fake_driver(node, "hip")


@test
def demo_with_cuda_or_hip_and_no_card_is_refused(node):
    for device in ("cuda", "hip"):
        ended = node.demo("--device", device, "--in-process", "--waits", "1")
        if ended.returncode == 0:
            raise Skip("there is a card")
        require(ended.returncode == 1, device, "exit status", ended.returncode, ended.stderr)
        require("Unavailable" in ended.stderr and device in ended.stderr, ended.stderr)


@test
def demo_prints_a_table_of_100_columns(node):
    node.start_gard()
    ended = node.demo("--device", "sim", "--processes", "2", "--streams", "2", "--waits", "3",
                      "--plan", "block", "--plan", FLAG)
    require(ended.returncode == 0, ended.returncode, ended.stderr)
    require("spinning" in ended.stdout and "word wait" in ended.stdout, ended.stdout)
    require(max(len(line) for line in ended.stdout.splitlines()) <= 100, ended.stdout)


@test
def demo_without_a_gard_names_every_path_it_tried(node):
    ended = node.demo("--device", "sim")
    require(ended.returncode == 3, "exit status", ended.returncode, ended.stderr)
    require(str(node.control) in ended.stderr, ended.stderr)


@test
def demo_in_process_runs_every_plan(node):
    found, _ = demo_json(node, "--device", "sim", "--processes", "2", "--streams", "2", "--waits",
                         "10", "--in-process")
    all_right(found, 4, 2 * 2 * 10)
    by_plan = {run["plan"]: run for run in found["runs"]}
    require(by_plan["block"]["in_process"] == 0, by_plan["block"])
    require(by_plan["poll"]["in_process"] == 0, by_plan["poll"])
    require(by_plan[FLAG]["in_process"] == 2 * 2 * 10, by_plan[FLAG])


@test
def demo_goes_on_in_process_when_gard_is_lost(node):
    gard = node.start_gard()
    demo = running_demo(node, "--waits", "40", "--json")
    gard.kill()
    gard.wait()
    out, err = demo.communicate(timeout=60)
    require(demo.returncode == 0, "exit status", demo.returncode, err)
    node.validate("demo.schema.json", out)
    run = json.loads(out)["runs"][0]
    require(run["completed"] == 2 * 2 * 40 and run["failed"] == 0, run)
    require(0 < run["in_process"] < 2 * 2 * 40, run)
    require("warning" in err, "a warning that the plan could not be unset:", err)


def running_demo(node, *arguments):
    """A demo that runs for some seconds; returns once its first waits have ended."""
    demo = subprocess.Popen([node.build / "bin/gar-demo", "--device", "sim", "--processes", "2",
                             "--streams", "2", "--work", "20ms", "--plan", FLAG, *arguments],
                            env=node.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True)
    node.processes.append(demo)
    eventually(lambda: node.status()["waits"]["completed"] >= 8, 20, "the demo's waits begin")
    return demo


@test
def demo_that_is_interrupted_unsets_its_plans(node):
    node.start_gard()
    demo = running_demo(node, "--waits", "1000")
    sources = [plan["source"] for plan in node.ask("plan", "show")["plans"]]
    require(sources.count("runtime") == 1, "the demo's plan is set:", sources)
    demo.send_signal(signal.SIGINT)
    _, err = demo.communicate(timeout=20)
    require(demo.returncode == 130, "exit status", demo.returncode, err)
    sources = [plan["source"] for plan in node.ask("plan", "show")["plans"]]
    require("runtime" not in sources, "the plan is unset:", sources)
    eventually(lambda: node.status()["clients"] == 0, 5, "its processes are gone")


@test
def demo_whose_process_is_killed_fails(node):
    node.start_gard()
    demo = running_demo(node, "--waits", "1000")
    worker = next(client["pid"] for client in node.ask("clients")["clients"])
    os.kill(worker, signal.SIGKILL)
    _, err = demo.communicate(timeout=20)
    require(demo.returncode == 1 and "signal 9" in err, demo.returncode, err)


@test
def demo_refuses_bad_flags_with_a_sentence(node):
    for arguments, said in ((("--work", "2"), "2"), (("--waits", "0"), "waits"),
                            (("--device", "abacus"), "abacus"), (("--plan", "block+"), "InvalidPlan"),
                            (("--nonsense",), "nonsense"), (("--processes", "many"), "many")):
        ended = node.demo(*arguments)
        require(ended.returncode == 2, arguments, "exit status", ended.returncode)
        require(said in ended.stderr and ended.stdout == "", arguments, ended.stderr)
