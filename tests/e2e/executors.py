"""Which executor runs: as asked, with a fallback that says why, or not at all."""

from node import Failure, require, test

KINDS = ("gpu-reactor", "naive", "io-uring")


def config(kind, strictness="fallback", software=True):
    return (f'[executor]\nkind = "{kind}"\nstrictness = "{strictness}"\n'
            f"software_word_wait = {str(software).lower()}\n")


def available(status, name):
    found = [c for c in status["capabilities"] if c["name"] == name]
    require(len(found) == 1, "one capability", name)
    return found[0]["available"]


def waits_run(node):
    """Does a flag wait end right through gard?"""
    client = node.client(streams=2)
    node.garctl("plan", "set", "flag:park_us=100,backstop_us=10000")
    answer = client.ask("wait 20")
    require(answer.get("right") is True, "a wait:", answer)
    require(answer["delegated"] == 1, "gard did the waiting:", answer)
    client.close()


def runs_as_asked(node, kind):
    node.start_gard(config(kind))
    status = node.status()
    executor = status["executor"]
    require(executor["requested"] == kind, executor)
    require(executor["strictness"] == "fallback", executor)
    if kind == "io-uring" and not available(status, "io-uring"):
        require(executor["running"] == "gpu-reactor" and executor["warning"]["code"] == 3, executor)
    else:
        require(executor["running"] == kind and executor["warning"] is None, executor)
    waits_run(node)
    node.stop_gard()


@test
def executor_gpu_reactor_runs_waits(node):
    runs_as_asked(node, "gpu-reactor")


@test
def executor_naive_runs_waits(node):
    runs_as_asked(node, "naive")


@test
def executor_io_uring_runs_waits_or_falls_back(node):
    runs_as_asked(node, "io-uring")


@test
def executor_falls_back_where_io_uring_is_denied(node):
    node.start_gard(config("io-uring"), before=[node.build / "tests/without_io_uring"])
    executor = node.status()["executor"]
    require(executor["requested"] == "io-uring", executor)
    require(executor["running"] == "gpu-reactor", executor)
    require(executor["warning"]["code"] == 3, executor)
    require(executor["warning"]["name"] == "ExecutorFallback", executor)
    text = node.garctl("status").stdout
    require("0x0003 ExecutorFallback" in text, text)
    waits_run(node)
    node.stop_gard()


@test
def executor_falls_back_where_a_part_of_io_uring_is_denied(node):
    for part, named in (("--register", "IORING_REGISTER_PROBE"), ("--enter", "does not send")):
        node.start_gard(config("io-uring"), before=[node.build / "tests/without_io_uring", part])
        executor = node.status()["executor"]
        require(executor["running"] == "gpu-reactor", part, executor)
        require(executor["warning"]["code"] == 3, part, executor)
        require(named in executor["warning"]["text"], part, executor)
        waits_run(node)
        node.stop_gard()


@test
def executor_strict_refuses_to_start_where_it_cannot_run(node):
    status, said = node.refused_gard(config("io-uring", strictness="strict"),
                                     before=[node.build / "tests/without_io_uring"])
    require(status == 69, "exit status", status, said)
    require("ExecutorRefused" in said, said)


@test
def executor_falls_back_to_naive_where_there_is_no_word_wait(node):
    node.start_gard(config("gpu-reactor", software=False))
    status = node.status()
    if status["word_wait"]["hardware"]:
        require(status["executor"]["running"] == "gpu-reactor", status["executor"])
        return
    require(status["executor"]["running"] == "naive", status["executor"])
    require(status["executor"]["warning"]["code"] == 3, status["executor"])
    require(status["plan"]["running"].startswith("poll"), status["plan"])
    require(status["plan"]["warnings"][0]["code"] == 2, status["plan"])
    require("0x0002 ParkFallback" in node.garctl("status").stdout)


@test
def unknown_executor_is_a_configuration_error(node):
    status, said = node.refused_gard(config("warp"))
    require(status == 78, "exit status", status, said)
    if "warp" not in said:
        raise Failure(said)
