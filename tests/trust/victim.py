"""The honest client beside the hostile one: its waits go on all the time, and must all end right."""

import threading
from pathlib import Path

from node import require

PLAN = "flag:park_us=100,backstop_us=10000"
WORK_MS = 2


class Victim:
    """with Victim(node) as victim: ... victim.check()  Its gard runs, under PLAN."""

    def __init__(self, node, name="victim"):
        self.node = node
        self.client = node.client(name)
        require(self.client.connected["mode"] == 1, "through gard:", self.client.connected)
        self.late_ns = []
        self.wrong = None
        self.delegated = 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        try:
            while not self.ended.is_set():
                answer = self.client.ask(f"wait {WORK_MS}")
                if answer.get("right") is not True:
                    self.wrong = answer
                    return
                self.delegated += answer["delegated"]
                self.late_ns.append(answer["wait_ns"] - WORK_MS * 1_000_000)
        except Exception as failure:  # pylint: disable=broad-except
            self.wrong = failure

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()

    def check(self, at_least=1):
        """What holds whatever others do; returns what there is to print."""
        self.__exit__()
        counters = self.client.ask("counters")
        require(self.wrong is None, "the victim's wait:", self.wrong)
        require(len(self.late_ns) >= at_least, "the victim's waits:", len(self.late_ns))
        require(self.delegated > 0, "through gard:", counters)
        return (f"victim: {len(self.late_ns)} waits ended right, {self.delegated} through gard, "
                f"{counters['owner_backstops']} by its own backstop, {self.delays()}")

    def delays(self):
        late = sorted(self.late_ns)
        at = [late[min(len(late) - 1, int(len(late) * q))] / 1000 for q in (0.5, 0.99)]
        return f"late by {at[0]:.0f} us (p50), {at[1]:.0f} (p99), {late[-1] / 1000:.0f} (most)"

    def quantile_us(self, q):
        late = sorted(self.late_ns)
        return max(late[min(len(late) - 1, int(len(late) * q))] / 1000, 1)


def descriptors_of(pid):
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def cpu_s(pid):
    """User and system time so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def rss_kib(pid):
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0
