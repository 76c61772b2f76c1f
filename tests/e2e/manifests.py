"""What config/kubernetes says, tried without a cluster: the arguments, paths, group and capability."""

import re
import shutil
import subprocess
from pathlib import Path

from metrics import free_port, samples, scrape
from node import Skip, eventually, require, test

try:
    import yaml
except ImportError:
    yaml = None


def documents(node, name):
    if yaml is None:
        raise Skip("python3-yaml is not installed")
    path = node.source / "config/kubernetes" / name
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def pod_of_gard(node):
    daemon_set = next(d for d in documents(node, "gard.yaml") if d["kind"] == "DaemonSet")
    require(daemon_set["spec"]["selector"]["matchLabels"] ==
            daemon_set["spec"]["template"]["metadata"]["labels"], "selector and labels")
    return daemon_set["spec"]["template"]["spec"]


def group_of_image(node):
    text = (node.source / "config/kubernetes/Containerfile").read_text(encoding="utf-8")
    return int(re.search(r"groupadd --gid (\d+) gard ", text)[1])


def packages_of_image(node):
    text = (node.source / "config/kubernetes/Containerfile").read_text(encoding="utf-8")
    listed = re.search(r"--no-install-recommends \\\n(.*?) \\\n", text, re.DOTALL)[1]
    return set(listed.split())


def with_what_they_need(node, packages):
    """Those packages, those that every Debian has, and whatever they depend on, as installed here."""
    needs = {}
    every = node.run("dpkg-query", "-W", "-f=${Package}\t${Priority}\t${Pre-Depends}, ${Depends}\n")
    required = set()
    for line in every.stdout.splitlines():
        name, priority, depends = line.split("\t")
        needs[name] = re.findall(r"(?:^|[,|]) *([a-z0-9][a-z0-9.+-]+)", depends)
        if priority == "required":
            required.add(name)
    closure, left = set(), required | packages
    while left:
        closure |= left
        left = {need for name in left for need in needs.get(name, ())} - closure
    return closure


def paths_of(node, program):
    """Where the libraries lie that the program itself asks for, in every way that dpkg may have it."""
    dynamic = node.run("readelf", "-d", program).stdout
    loaded = dict(re.findall(r"(\S+) => (\S+)", node.run("ldd", program).stdout))
    for library in re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic):
        if not library.startswith(("libgarclient.", "ld-linux")):
            require(library in loaded, program, "needs", library, "which is not here")
            path = str(Path(loaded[library]).resolve())
            yield library, {path, path.removeprefix("/usr")}


@test
def kubernetes_image_has_the_libraries_of_its_programs(node):
    release = Path("/etc/os-release")
    if not release.exists() or "VERSION_CODENAME=bookworm" not in release.read_text():
        raise Skip("the image is of Debian 12, and its packages are known on a Debian 12 alone")
    if not all(shutil.which(tool) for tool in ("dpkg-query", "readelf", "ldd")):
        raise Skip("dpkg-query, readelf or ldd is not there")
    libraries = {}
    for program in ("bin/gard", "bin/garctl", "bin/gar-demo", "lib/libgarclient.so"):
        libraries.update(paths_of(node, node.build / program))
    require(len(libraries) > 4, "they need libraries", libraries)
    owners = node.run("dpkg", "-S", *sorted(set().union(*libraries.values()))).stdout
    owner_of = {path: package for package, path in re.findall(r"^([^:\n]+)\S* (\S+)$", owners, re.M)}
    there = with_what_they_need(node, packages_of_image(node))
    for library, paths in libraries.items():
        packages = {owner_of.get(path) for path in paths} - {None}
        require(packages & there, library, "is of", packages, "which the image lacks")


@test
def kubernetes_pod_of_gard_has_the_least_privilege(node):
    pod = pod_of_gard(node)
    for shared in ("hostNetwork", "hostPID", "hostIPC"):
        require(shared not in pod, shared)
    require(pod["automountServiceAccountToken"] is False, "no token")
    added = {"gard": {"add": ["CHOWN"]}, "metrics": {}}
    require([one["name"] for one in pod["containers"]] == list(added), "gard is the first")
    for one in pod["containers"]:
        context = one["securityContext"]
        require(context["capabilities"] == {"drop": ["ALL"], **added[one["name"]]}, context)
        require(context["readOnlyRootFilesystem"], context)
        require(not context["allowPrivilegeEscalation"], context)
        require("cpu" not in one["resources"]["limits"], "no CPU quota")
    gard, passing = pod["containers"]
    mounts = {mount["name"] for mount in gard["volumeMounts"]}
    require(mounts == {volume["name"] for volume in pod["volumes"]}, "mounts and volumes", mounts)
    require(passing["securityContext"]["runAsNonRoot"] and "volumeMounts" not in passing,
            "what has a port has nothing of gard's")
    require("ports" not in gard, "gard has none")


@test
def kubernetes_client_mounts_the_directory_that_gard_shares(node):
    gard = pod_of_gard(node)
    client, = documents(node, "client.yaml")
    shared = {v["hostPath"]["path"] for v in gard["volumes"] if "hostPath" in v}
    seen = {v["hostPath"]["path"] for v in client["spec"]["volumes"]}
    require(shared == seen == {"/run/gard"}, shared, seen)
    one, = client["spec"]["containers"]
    socket = {e["name"]: e["value"] for e in one["env"]}["GARD_SOCKET"]
    args = gard["containers"][0]["args"]
    require(args[args.index("--socket") + 1] == socket, args, socket)
    require(client["spec"]["securityContext"]["supplementalGroups"] == [group_of_image(node)])
    require(one["image"] == gard["containers"][0]["image"], "one image")


def config_of_gard(node):
    config = next(d for d in documents(node, "gard.yaml") if d["kind"] == "ConfigMap")
    return config["data"]["gard.toml"]


@test
def kubernetes_scrape_reaches_the_port_that_is_the_loopback_s_alone(node):
    pod = pod_of_gard(node)
    passing = next(one for one in pod["containers"] if one["name"] == "metrics")
    port, = passing["ports"]
    job, = documents(node, "scrape.yml")[0]["scrape_configs"]
    kept = next(rule for rule in job["relabel_configs"] if rule.get("action") == "keep")
    labels = next(d for d in documents(node, "gard.yaml") if d["kind"] == "DaemonSet")
    app = labels["spec"]["template"]["metadata"]["labels"]["app"]
    require(kept["regex"] == f"{app};{port['name']}", "the scrape keeps this port", kept)
    require(passing["command"][0] in packages_of_image(node), "the image has it")
    if not shutil.which(passing["command"][0]):
        raise Skip(f"{passing['command'][0]} is not installed")
    listen = re.search(r'^listen = "127\.0\.0\.1:(\d+)"$', config_of_gard(node), re.M)[1]
    own, passed = str(free_port()), str(free_port())
    node.start_gard(config_of_gard(node).replace(listen, own))
    command = [part.replace(listen, own).replace(str(port["containerPort"]), passed)
               for part in passing["command"]]
    require(command[-1].endswith(own) and passed in command[-2], command)
    node.processes.append(subprocess.Popen(command))

    def answered():
        try:
            return scrape(int(passed))
        except OSError:
            return None
    status, _, text = eventually(answered, 20, "a scrape")
    require(status == 200 and samples(text)["gard_clients"] == 0, status, text)
    require(set(samples(text)) == set(samples(node.garctl("metrics", "--prometheus").stdout)),
            "the same series")


@test
def kubernetes_arguments_and_capability_are_enough_for_gard(node):
    gard = pod_of_gard(node)
    config = config_of_gard(node).replace(":9746", f":{free_port()}")
    (node.directory / "gard.toml").write_text(config, encoding="utf-8")
    one = gard["containers"][0]
    inside = {"/etc/gard/gard.toml": node.directory / "gard.toml",
              "/run/gard/gard.sock": node.socket,
              "/run/gard-control/control.sock": node.control}
    args = [inside.get(a, a) for a in one["args"]]
    kept = ",".join(["-all"] + [f"+{name.lower()}"
                                for name in one["securityContext"]["capabilities"]["add"]])
    before = ("setpriv", f"--bounding-set={kept}", f"--inh-caps={kept}", "--no-new-privs")
    if node.run(*before, "true").returncode != 0:
        raise Skip("capabilities cannot be given up here: that needs root")
    node.start_gard_as(before, args)
    probe = [inside.get(a, a) for a in one["livenessProbe"]["exec"]["command"]]
    require(probe[0] == "garctl", probe)
    require(node.garctl(*probe[1:]).returncode == 0, "the probe")
    client = node.client()
    require(client.connected["mode"] == 1, "through gard:", client.connected)
    require(client.ask("wait 5").get("right") is True, "a wait")
    client.close()
    eventually(lambda: node.status()["clients"] == 0, 5, "the client is gone")
