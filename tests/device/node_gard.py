"""A gard of the check's own, with each plan set for the client that is to wait under it."""

import time

from child import CannotRun
from gard_process import Gard

PLANS = {
    "block": "block",
    "poll": "poll",
    "flag": "flag:park_us=100,backstop_us=10000",
    "shipped": "flag:park_us=100,backstop_us=10000"
               "+predict:margin_us=200,min_sleep_us=50,max_sleep_us=50000,window=8",
}
CPU_CLOCK_OF_PROCESS = 2  # what clock_getcpuclockid puts beside the process's number


def config():
    lines = ["[plan.clients]"]
    lines += [f'"device-check-{name}" = "{text}"' for name, text in PLANS.items()]
    return "\n".join(lines) + "\n"


class NodeGard:
    """A running gard, or why there is none: then what gard does is left out, and said."""

    def __init__(self, binaries):
        self.why = ""
        self.gard = Gard(str(binaries.path("gard")), config=config(),
                         environment=binaries.environment)

    def __enter__(self):
        try:
            self.gard.start()
        except (OSError, TimeoutError) as why:
            self.why = str(why)
        if not self.running() and not self.why:
            words = self.gard.log().strip().splitlines()
            self.why = words[-1] if words else "it ended at once"
        return self

    def __exit__(self, *unused):
        self.gard.__exit__(*unused)

    def running(self):
        return self.gard.process is not None and self.gard.process.poll() is None

    def describe(self):
        if not self.running():
            return {"ran": False, "why": self.why}
        status = self.status()
        return {"ran": True, "version": status["version"], "executor": status["executor"],
                "word_wait": status["word_wait"]}

    def socket_flags(self):
        return ["--socket", self.gard.socket] if self.running() else []

    def status(self):
        if not self.running():
            raise CannotRun("gard is not running: " + (self.why or "it ended in the middle"))
        return self.gard.result({"op": "status"})

    def cpu_ns(self):
        if not self.running():
            return 0
        clock = (~self.gard.process.pid << 3) | CPU_CLOCK_OF_PROCESS
        return time.clock_gettime_ns(clock)
