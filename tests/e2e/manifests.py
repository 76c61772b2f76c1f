"""What config/kubernetes says, tried without a cluster: the arguments, paths, group and capability."""

import re

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


@test
def kubernetes_pod_of_gard_has_the_least_privilege(node):
    pod = pod_of_gard(node)
    for shared in ("hostNetwork", "hostPID", "hostIPC"):
        require(shared not in pod, shared)
    require(pod["automountServiceAccountToken"] is False, "no token")
    one, = pod["containers"]
    context = one["securityContext"]
    require(context["capabilities"] == {"drop": ["ALL"], "add": ["CHOWN"]}, context)
    require(context["readOnlyRootFilesystem"] and not context["allowPrivilegeEscalation"], context)
    require("cpu" not in one["resources"]["limits"], "no CPU quota")
    mounts = {mount["name"] for mount in one["volumeMounts"]}
    require(mounts == {volume["name"] for volume in pod["volumes"]}, "mounts and volumes", mounts)


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


@test
def kubernetes_arguments_and_capability_are_enough_for_gard(node):
    gard = pod_of_gard(node)
    config = next(d for d in documents(node, "gard.yaml") if d["kind"] == "ConfigMap")
    (node.directory / "gard.toml").write_text(config["data"]["gard.toml"], encoding="utf-8")
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
