"""Plans change on the running node; garctl's answers keep to their schemas."""

import json

from node import require, test

FLAG = "flag:park_us=100,backstop_us=10000"


def generation(node):
    return node.status()["plan"]["generation"]


@test
def plan_set_on_a_running_node_is_used_by_new_waits(node):
    node.start_gard()
    client = node.client("alpha", 1)
    before = generation(node)
    node.garctl("plan", "set", "block", "--client", "alpha")
    require(generation(node) > before, "the generation rises")

    def kind_becomes(kind):
        for _ in range(50):
            answer = client.ask("wait 5")
            require(answer.get("right") is True, answer)
            if answer["kind"] == kind:
                return True
        return False
    require(kind_becomes(0), "block is in force")
    node.garctl("plan", "set", FLAG, "--client", "alpha")
    require(kind_becomes(3), "flag is in force")
    other = node.client("beta", 1)
    require(other.ask("wait 5")["kind"] != 0, "another client's plan is its own")
    shown = node.ask("plan", "show")["plans"]
    mine = [plan for plan in shown if plan["client"] == "alpha"]
    require(len(mine) == 1 and mine[0]["source"] == "runtime", shown)
    node.garctl("plan", "unset", "--client", "alpha")
    twice = node.garctl("plan", "unset", "--client", "alpha", check=False)
    require(twice.returncode == 1 and "0x002b NotSet" in twice.stderr, twice)


@test
def bad_plan_changes_nothing(node):
    node.start_gard()
    before = node.status()["plan"]
    for text in ("flag", "flag:park_us=0,backstop_us=1", "block+predict:window=1", "", "bl\u00e4h", "x" * 600):
        ended = node.garctl("plan", "set", text, check=False)
        require(ended.returncode == 1, repr(text), "exit status", ended.returncode)
        require("0x0001 InvalidPlan" in ended.stderr and "^" in ended.stderr, ended.stderr)
        require("flag:park_us=" in ended.stderr or "+predict:" in ended.stderr, "says what is needed", ended.stderr)
    require(node.status()["plan"] == before, "a refused plan changes nothing")


@test
def runtime_plan_outlives_a_reload_unless_replaced(node):
    node.start_gard('[plan]\ndefault = "block"\n')
    require(node.status()["plan"]["requested"] == "block", node.status()["plan"])
    node.garctl("plan", "set", "poll")
    node.garctl("reload")
    require(node.status()["plan"]["requested"] == "poll", "it outlives a reload")
    node.garctl("reload", "--replace")
    require(node.status()["plan"]["requested"] == "block", "--replace drops it")


@test
def bad_reload_leaves_all_as_it_was(node):
    node.start_gard('[plan]\ndefault = "block"\n')
    before = node.status()["plan"]
    (node.directory / "gard.toml").write_text('[plan]\ndefault = "blok"\n')
    ended = node.garctl("reload", check=False)
    require(ended.returncode == 1 and "InvalidConfig" in ended.stderr, ended.stderr)
    require(node.status()["plan"] == before)


@test
def every_json_answer_keeps_to_its_schema(node):
    node.start_gard()
    client = node.client("alpha", 2)
    require(client.ask("wait 5").get("right") is True)
    for command in ("status", "caps", "clients", "streams", "points", "version"):
        node.validate(f"{command}.schema.json", node.garctl(command, "--json").stdout)
    node.validate("plan_show.schema.json", node.garctl("--json", "plan", "show").stdout)
    node.validate("plan_set.schema.json",
                  node.garctl("plan", "set", "poll", "--point", "p", "--json").stdout)
    node.validate("plan_unset.schema.json",
                  node.garctl("plan", "unset", "--point", "p", "--json").stdout)
    node.validate("reload.schema.json", node.garctl("reload", "--json").stdout)
    node.validate("plan_check.schema.json", node.garctl("plan", "check", "poll", "--json").stdout)
    bad = node.garctl("plan", "check", "pol", "--json", check=False)
    require(bad.returncode == 1)
    node.validate("plan_check.schema.json", bad.stdout)
    clients = json.loads(node.garctl("clients", "--json").stdout)["clients"]
    require([each["name"] for each in clients] == ["alpha"], clients)


@test
def questions_are_answered_on_the_clients_socket_too(node):
    node.start_gard()
    node.control.unlink()
    require(node.status()["pid"] == node.gard.pid, "asked without the control socket")
    changed = node.garctl("plan", "set", "poll", check=False)
    require(changed.returncode == 3 and str(node.control) in changed.stderr, changed)
    only = node.garctl("--control", str(node.control), "status", check=False)
    require(only.returncode == 3 and str(node.socket) not in only.stderr, only)


@test
def caps_and_plan_check_need_no_gard(node):
    node.validate("caps.schema.json", node.garctl("caps", "--json").stdout)
    names = [d["name"] for d in node.ask("caps")["drivers"]]
    require("vulkan" in names, names)
    require(node.garctl("plan", "check", FLAG).stdout.strip() == FLAG)
    require(node.garctl("status", check=False).returncode == 3)
