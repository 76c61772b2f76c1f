"""A client in namespaces of its own, as containers have them: memory travels as descriptors."""

from node import Skip, eventually, require, test

FLAG = "flag:park_us=100,backstop_us=10000"
NAMESPACES = ("unshare", "--pid", "--ipc", "--mount", "--fork", "--kill-child")
ALL_NAMESPACES = (*NAMESPACES[:-2], "--net", "--uts", "--cgroup", "--user", "--map-root-user",
                  "--fork", "--kill-child")
# Gard's directory as a container sees it, and a /dev/shm that nothing can be put into.
INSIDE = """
mount --bind "$1" "$2" || exit 1
if [ -d /dev/shm ]; then mount -t tmpfs -o ro none /dev/shm || exit 1; fi
GARD_SOCKET=$2/gard.sock
export GARD_SOCKET
shift 2
exec "$@"
"""


def contained(node, namespaces):
    """What runs a program in such namespaces, with the directory of gard's socket mounted."""
    mount_point = node.directory / "inside"
    mount_point.mkdir()
    before = (*namespaces, "sh", "-c", INSIDE, "sh", node.directory, mount_point)
    tried = node.run(*before, "true")
    if tried.returncode != 0:
        raise Skip(f"this host makes no such namespaces: {tried.stderr.strip()}")
    return before


def waits_through_gard_and_through_the_next(node, namespaces):
    before = contained(node, namespaces)
    node.start_gard()
    node.garctl("plan", "set", FLAG)
    client = node.client(before=before)
    require(client.connected["mode"] == 1, "through gard:", client.connected)

    def waits_through_gard():
        answer = client.ask("wait 20")
        require(answer.get("right") is True, answer)
        return answer["delegated"] == 1

    eventually(waits_through_gard, 10, "a wait through gard")
    node.stop_gard()
    require(client.ask("wait 5").get("right") is True, "a wait with no gard")
    node.start_gard()
    node.garctl("plan", "set", FLAG)
    eventually(waits_through_gard, 20, "a wait through the gard that came after")
    client.close()


@test
def client_in_namespaces_of_its_own_waits_through_gard_and_through_the_next(node):
    waits_through_gard_and_through_the_next(node, NAMESPACES)


@test
def client_in_user_and_network_namespaces_too_waits_through_gard_and_through_the_next(node):
    waits_through_gard_and_through_the_next(node, ALL_NAMESPACES)
