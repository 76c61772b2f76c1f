"""Metrics: over the control socket and a loopback port, well formed, and named rightly elsewhere."""

import http.client
import json
import re
import shutil
import socket

from node import Skip, eventually, require, test

SHIPPED = ("grafana/gard.json", "prometheus/alerts.yml", "prometheus/scrape.yml")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def start_with_port(node):
    port = free_port()
    node.start_gard(f'[metrics]\nlisten = "127.0.0.1:{port}"\n')
    return port


def scrape(port, **headers):
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    link.request("GET", "/metrics", headers=headers)
    answer = link.getresponse()
    return answer.status, answer.getheader("Content-Type"), answer.read().decode()


def samples(text):
    """NAME{LABELS} -> value."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines}


def work(node):
    client = node.client("metrics", 2)
    for _ in range(5):
        require(client.ask("wait 2").get("right") is True, "a wait ends right")
    return client


@test
def metrics_say_what_was_waited_for(node):
    node.start_gard()
    client = work(node)
    eventually(lambda: node.status()["waits"]["completed"] >= 5, 30, "the waits are counted")
    told = samples(node.garctl("metrics").stdout)
    status = node.status()
    kinds = {kind: told[f'gard_waits_total{{kind="{kind}"}}'] for kind in status["kinds"]}
    require(kinds == status["kinds"], kinds, status["kinds"])
    require(told["gard_clients"] == 1 and told["gard_streams"] == 2, told)
    counted = sum(value for name, value in told.items()
                  if name.startswith("gard_wait_duration_seconds_count"))
    require(counted == status["waits"]["completed"], counted, status["waits"])
    require(told['gard_plan_waits_total{plan="other"}'] == 0, "plans are told apart")
    require("metrics" not in node.garctl("metrics").stdout, "no client is named")
    client.close()


@test
def metrics_over_http_are_those_of_the_control_socket(node):
    port = start_with_port(node)
    client = work(node)
    status, kind, text = scrape(port, Accept="application/openmetrics-text;version=1.0.0")
    require(status == 200 and kind.startswith("application/openmetrics-text"), status, kind)
    require(text.endswith("\n# EOF\n"), "OpenMetrics ends with EOF")
    require(set(samples(text)) == set(samples(node.garctl("metrics").stdout)), "the same series")
    status, kind, text = scrape(port)
    require(status == 200 and kind.startswith("text/plain; version=0.0.4"), status, kind)
    require(set(samples(text)) == set(samples(node.garctl("metrics", "--prometheus").stdout)),
            "the same series")
    client.close()
    node.stop_gard()


@test
def a_port_for_metrics_that_is_taken_leaves_gard_without_it(node):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        node.start_gard(f'[metrics]\nlisten = "127.0.0.1:{port}"\n')
        require("no metrics over HTTP: 0x0026" in (node.directory / "gard-1.log").read_text(),
                "the log says why")
        work(node).close()


@test
def metrics_are_not_served_beyond_the_loopback(node):
    for address in ("0.0.0.0:9746", "[::]:9746", "localhost:9746", "127.0.0.1"):
        status, said = node.refused_gard(f'[metrics]\nlisten = "{address}"\n')
        require(status == 78 and "0x0022" in said and "loopback" in said, address, status, said)


@test
def who_hogs_the_metrics_port_keeps_nobody_out(node):
    port = start_with_port(node)
    hogs = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
    client = node.client("honest", 1)
    for _ in range(10):
        require(scrape(port)[0] == 200, "an honest scrape")
        require(client.ask("wait 2").get("right") is True, "a wait ends right")
    for hog in hogs:
        hog.close()
    client.close()


@test
def metrics_please_promtool(node):
    fetched = node.source / "build/promtool/usr/bin/promtool"
    promtool = shutil.which("promtool") or (fetched if fetched.exists() else None)
    if not promtool:
        raise Skip("promtool is not there: `./dev test` takes it out of Debian's package prometheus")
    node.start_gard()
    work(node).close()
    text = node.directory / "metrics.txt"
    text.write_text(node.garctl("metrics", "--prometheus").stdout)
    checked = node.run("sh", "-c", f"{promtool} check metrics < {text}")
    require(checked.returncode == 0 and checked.stderr == "", checked.stdout, checked.stderr)
    rules = node.run(promtool, "check", "rules", node.source / "config/prometheus/alerts.yml")
    require(rules.returncode == 0, rules.stdout, rules.stderr)
    config = node.run(promtool, "check", "config", node.source / "config/prometheus/scrape.yml")
    require(config.returncode == 0, config.stdout, config.stderr)
    # Debian's promtool knows no Kubernetes: all but how the pods are found.
    kubernetes = (node.source / "config/kubernetes/scrape.yml").read_text()
    found = "kubernetes_sd_configs:\n      - role: pod\n"
    require(found in kubernetes, "how the pods are found")
    there = node.directory / "kubernetes" / "scrape.yml"
    there.parent.mkdir()
    there.write_text(kubernetes.replace(found, "static_configs: []\n")
                     .replace("..", str(node.source / "config")))
    config = node.run(promtool, "check", "config", there)
    require(config.returncode == 0, config.stdout, config.stderr)


@test
def metrics_are_strict_open_metrics(node):
    try:
        from prometheus_client.openmetrics.parser import text_string_to_metric_families
    except ImportError as why:
        raise Skip("no strict parser: install Debian's python3-prometheus-client") from why
    node.start_gard()
    work(node).close()
    families = {f.name: f for f in text_string_to_metric_families(node.garctl("metrics").stdout)}
    require(families["gard_waits"].type == "counter", families["gard_waits"])
    require(families["gard_wait_duration_seconds"].unit == "seconds", "units are told")
    require(all(f.documentation for f in families.values()), "each family has a help")


@test
def dashboards_and_rules_name_only_metrics_that_exist(node):
    node.start_gard()
    text = node.garctl("metrics", "--prometheus").stdout
    there = {re.split(r"[{ ]", line)[0] for line in text.splitlines() if not line.startswith("#")}
    labels = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            labels.setdefault(re.split(r"[{ ]", line)[0], set()).update(
                re.findall(r'(\w+)="', line))
    named = set()
    for name in SHIPPED:
        shipped = (node.source / "config" / name).read_text()
        if name.endswith(".json"):
            expressions = re.findall(r'"(?:expr|query)": "((?:[^"\\]|\\.)*)"',
                                     json.dumps(json.loads(shipped)))
            shipped = "\n".join(expressions)
        named |= set(re.findall(r"\bgard_\w+", shipped))
        for group, metric in re.findall(r"by \(([^)]*)\) \(rate\((gard_\w+)", shipped):
            for label in set(re.split(r",\s*", group)) - {"instance", "le"}:
                require(label in labels.get(metric, ()), name, metric, "has no label", label)
    require(len(named) > 20, "names were found", named)
    require(named <= there, "these do not exist:", named - there)
