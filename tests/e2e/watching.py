"""What happens, seen while it happens: garctl watch and garctl trace."""

import json
import signal
import subprocess
import time

from node import eventually, require, test


class Watch:
    """A garctl watch --json; its lines so far."""

    def __init__(self, node, *arguments):
        self.node = node
        self.out = open(node.directory / "watched", "w+b")
        self.process = subprocess.Popen(
            [node.build / "bin/garctl", "watch", "--json", *arguments], stdout=self.out,
            env=node.environment)
        node.processes.append(self.process)

    def events(self):
        text = (self.node.directory / "watched").read_text()
        return [json.loads(line) for line in text.splitlines(keepends=True)
                if line.endswith("\n")]

    def seen(self, event, **fields):
        def matching():
            return [e for e in self.events() if e["event"] == event and
                    all(e.get(key) == value for key, value in fields.items())]
        return eventually(matching, 30, f"{event} {fields}")


@test
def watch_shows_what_happens(node):
    node.start_gard()
    watch = Watch(node, "--kept")
    watch.seen("plan_changed")
    client = node.client("watched", 2)
    watch.seen("client_connected", client="watched")
    for stream in range(2):
        watch.seen("stream_opened", client="watched", stream=stream)
    node.garctl("plan", "set", "poll", "--client", "nobody")
    eventually(lambda: any("client nobody" in e["text"] for e in watch.seen("plan_changed")), 30,
               "the plan's change is seen")
    client.ask("fault lost 1")
    require(client.ask("wait 30").get("right") is True, "a lost store ends by the backstop")
    watch.seen("lost_store", client="watched", stream=0)
    client.kill()
    watch.seen("client_left", client="watched")
    for event in watch.events():
        node.validate("watch.schema.json", json.dumps(event))


@test
def watch_goes_on_with_the_next_gard(node):
    node.start_gard()
    watch = Watch(node)
    eventually(lambda: node.client("first").connected and
               [e for e in watch.events() if e.get("client") == "first"], 30, "it watches")
    node.stop_gard()
    node.start_gard()
    watch.seen("restarted")
    node.client("second")
    watch.seen("client_connected", client="second")


@test
def watch_ends_when_it_was_told_to(node):
    node.start_gard()
    ended = node.run(node.build / "bin/garctl", "watch", "--for", "300ms", "--kept")
    require(ended.returncode == 0 and "plan_changed" in ended.stdout, ended)
    node.stop_gard()
    ended = node.run(node.build / "bin/garctl", "watch", "--for", "300ms")
    require(ended.returncode == 3 and "NotReachable" in ended.stderr, ended)


@test
def who_watches_a_gard_that_is_silent_ends_in_time(node):
    node.start_gard()
    begun = time.monotonic()
    watching = [subprocess.Popen([node.build / "bin/garctl", *command, "--for", "4s"],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, env=node.environment)
                for command in (("watch", "--kept"), ("top",))]
    node.processes += watching
    for each in watching:
        require(each.stdout.readline(), "it has begun")
    node.gard.send_signal(signal.SIGSTOP)
    for each in watching:
        _, said = each.communicate(timeout=30)
        require(each.returncode == 3 and said == "garctl: gard is silent; asking on\n",
                each.args, each.returncode, said)
    # The last question is given half a second; the rest is a busy machine's.
    require(time.monotonic() - begun < 4 + 0.5 + 5, "it ends in time", time.monotonic() - begun)
    node.gard.send_signal(signal.SIGCONT)


def held_to_the_format(trace):
    """What the Trace Event Format asks for of an object with nestable asynchronous events, so that
    Perfetto and catapult's viewer read all of it. The events of each span, by its id."""
    require(trace["displayTimeUnit"] in ("ms", "ns"), trace["displayTimeUnit"])
    spans, named = {}, set()
    for event in trace["traceEvents"]:
        require(event["ph"] in ("b", "e", "n", "M"), event)
        require(type(event["pid"]) is int and type(event["tid"]) is int, event)
        require(event["name"] and isinstance(event["name"], str), event)
        require(isinstance(event.get("args", {}), dict), event)
        if event["ph"] == "M":
            require(event["name"] in ("process_name", "thread_name"), event)
            require(isinstance(event["args"]["name"], str), event)
            track = (event["name"], event["pid"], event["tid"])
            require(track not in named, "named twice:", event)
            named.add(track)
        else:
            # Readers find what belongs together by category and id alone, whosever process it is.
            require(event["cat"] == "wait" and int(event["id"], 16) > 0, event)
            require(isinstance(event["ts"], (int, float)), event)
            spans.setdefault(event["id"], []).append(event)
    for events in spans.values():
        require(len({(e["pid"], e["tid"]) for e in events}) == 1, "one track:", events)
        require([e["ts"] for e in events] == sorted(e["ts"] for e in events), events)
        open_spans = []
        for position, event in enumerate(events):
            require(open_spans or position == 0, "one span around all:", events)
            if event["ph"] == "b":
                open_spans.append(event["name"])
            elif event["ph"] == "e":
                require(open_spans.pop() == event["name"], "what began last ends first:", events)
            else:
                require(open_spans, "inside a span:", events)
        require(not open_spans, "all end:", events)
    return spans


def traced(node, executor):
    node.start_gard(f'[executor]\nkind = "{executor}"\n')
    client = node.client("traced", 2)
    file = node.directory / "trace.json"
    tracer = subprocess.Popen([node.build / "bin/garctl", "trace", "--for", "2s", "--output", file,
                               "--json"], stdout=subprocess.PIPE, text=True, env=node.environment)
    node.processes.append(tracer)
    while tracer.poll() is None:
        require(client.ask("wait 5").get("right") is True, "a wait ends right")
    require(tracer.returncode == 0, "garctl's exit status", tracer.returncode)
    ended = json.loads(tracer.stdout.read())
    require(ended["lost"] == 0 and ended["waits"] > 0, ended)
    trace = json.loads(file.read_text())
    spans = held_to_the_format(trace)
    require(len(spans) == ended["waits"], len(spans), ended)
    for events in spans.values():
        names = [e["name"] for e in events if e["ph"] != "e"]
        require(names[0] == "wait" and "seen" in names, names)
    seen = {e["name"] for events in spans.values() for e in events}
    require({"registered", "parked", "notified"} <= seen, seen)
    named = {e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M"}
    require(any(name.startswith("traced (client") for name in named), named)
    return client


@test
def trace_has_the_steps_of_each_wait(node):
    client = traced(node, "gpu-reactor")
    # Nothing is left on, and the next one can begin.
    second = json.loads(node.garctl("trace", "--for", "10ms", "--output",
                                    node.directory / "second.json", "--json").stdout)
    require(second["lost"] == 0, second)
    client.kill()


@test
def trace_has_the_steps_of_each_wait_of_the_naive_executor(node):
    traced(node, "naive").kill()


@test
def trace_names_who_came_and_left_meanwhile(node):
    node.start_gard()
    file = node.directory / "trace.json"
    tracer = subprocess.Popen([node.build / "bin/garctl", "trace", "--for", "60s", "--output", file],
                              stdout=subprocess.PIPE, text=True, env=node.environment)
    node.processes.append(tracer)

    def written(client, text):
        def is_written():
            client.ask("wait 2")
            return any(text in part.read_text() for part in file.parent.glob("trace.json.*.part"))
        eventually(is_written, 30, f"{text} is written")
    before = node.client("before", 1)
    written(before, '"wait"')  # so the names of those who are there were asked for
    passing = node.client("passing", 1)
    written(passing, "passing (client")
    require(tracer.poll() is None, "it is still traced")
    tracer.kill()


@test
def trace_that_is_refused_leaves_the_file_as_it_was(node):
    file = node.directory / "kept.json"
    file.write_text("before")
    ended = node.garctl("trace", "--for", "10ms", "--output", file, check=False)
    require(ended.returncode == 3, ended)
    node.start_gard()
    ended = node.garctl("trace", "--for", "700s", "--output", file, check=False)
    require(ended.returncode == 1 and "600000" in ended.stderr, ended)
    require(file.read_text() == "before", "the file is as it was")
    require(not list(file.parent.glob("kept.json.*")), "nothing is left beside it")


@test
def trace_into_what_is_no_file_is_refused_before_gard_is_asked(node):
    node.start_gard()
    for place, why in ((node.directory, "Is a directory"), ("", "No such file")):
        ended = node.garctl("trace", "--for", "600s", "--output", place, check=False)
        require(ended.returncode == 1 and why in ended.stderr, ended)
    # Nothing was begun.
    node.garctl("trace", "--for", "10ms", "--output", node.directory / "trace.json")


@test
def trace_that_is_interrupted_leaves_nothing_behind(node):
    node.start_gard()
    file = node.directory / "trace.json"
    tracer = subprocess.Popen([node.build / "bin/garctl", "trace", "--for", "60s", "--output", file],
                              env=node.environment)
    node.processes.append(tracer)
    eventually(lambda: [p for p in file.parent.glob("trace.json.*.part") if p.stat().st_size > 0],
               30, "it is being traced")
    tracer.send_signal(signal.SIGINT)
    require(tracer.wait(30) == -signal.SIGINT, "it ends by the signal", tracer.returncode)
    require(not list(file.parent.glob("trace.json*")), "nothing is left")
    # Nobody reads what gard notes for it: the next one is taken.
    eventually(lambda: node.garctl("trace", "--for", "10ms", "--output", file, check=False).returncode
               == 0, 30, "another trace")
