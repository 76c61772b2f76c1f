#!/usr/bin/python3
"""gard_cli_test.py GARD: how gard starts, reloads and ends, seen from outside.

Exit statuses, refusals, sockets, signals, and what the service manager hears."""

import contextlib
import fcntl
import os
import pathlib
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest

from gard_process import Gard, run

GARD = ""
NOBODY = 65534
SHIPPED = ("flag:park_us=100,backstop_us=10000+predict:margin_us=200,min_sleep_us=50,"
           "max_sleep_us=50000,window=8")


@contextlib.contextmanager
def gard_for_anybody():
    """A copy of gard that every user may run: the build may lie below a home that is closed."""
    with tempfile.TemporaryDirectory(prefix="gard-test-") as directory:
        os.chmod(directory, 0o755)
        yield shutil.copy(GARD, directory)


def default_plan(gard):
    return gard.result({"op": "status"})["plan"]


class CommandLine(unittest.TestCase):
    def test_version_and_help_end_well(self):
        version = run(GARD, "--version")
        self.assertEqual(version.returncode, 0)
        self.assertRegex(version.stdout, r"^gard \d+\.\d+\.\d+\n$")
        self.assertEqual(run(GARD, "--help").returncode, 0)

    def refuses(self, status, words, *arguments, binary=None, **how):
        ended = run(binary or GARD, *arguments, **how)
        self.assertEqual(ended.returncode, status, ended.stderr)
        self.assertIn(words, ended.stderr)
        self.assertEqual(ended.stderr.count("\n"), 1, ended.stderr)

    def test_wrong_usage_ends_with_64_and_a_sentence(self):
        self.refuses(64, "--sockets", "--sockets", "/x")
        self.refuses(64, "--log-level", "--log-level", "loud")

    def test_a_bad_environment_ends_with_64_and_names_the_variable(self):
        self.refuses(64, "GARD_SOCKET", environment={"GARD_SOCKET": ""})
        self.refuses(64, "GARD_SOCKET", environment={"GARD_SOCKET": "here/gard.sock"})
        self.refuses(64, "GARD_CONTROL", environment={"GARD_CONTROL": "/" + "x" * 107})
        self.refuses(64, "clients' socket too", "--socket", "/x/y", "--control", "/x/y")

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_a_user_without_a_runtime_directory_is_told_what_to_set(self):
        environment = {k: v for k, v in os.environ.items() if k != "XDG_RUNTIME_DIR"}
        with gard_for_anybody() as binary:
            self.refuses(64, "XDG_RUNTIME_DIR", binary=binary, user=NOBODY,
                         environment={**environment, "XDG_RUNTIME_DIR": ""})


class Configuration(unittest.TestCase):
    def check(self, text, *flags, **environment):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(text)
            file.flush()
            return run(GARD, "--check-config", "--config", file.name, *flags,
                       environment=environment), file.name

    def test_check_prints_what_would_run_and_reads_it_back_to_the_same(self):
        first, _ = self.check("[limits]\nclients = 7\n[plan]\nclients.a = 'poll'\n")
        self.assertEqual((first.returncode, first.stderr), (0, ""))
        self.assertIn("clients = 7\n", first.stdout)
        self.assertIn('"a" = "poll"\n', first.stdout)
        again, _ = self.check(first.stdout)
        self.assertEqual(again.stdout, first.stdout)

    def test_check_prints_the_plan_as_shipped_where_nothing_is_said(self):
        ended, _ = self.check("")
        self.assertIn(f'default = "{SHIPPED}"\n', ended.stdout)

    def test_check_shows_what_flags_and_environment_say(self):
        ended, _ = self.check("[log]\nlevel = 'error'\n", "--log-level", "debug", "--socket", "/a",
                              GARD_CONTROL="/b")
        self.assertIn('socket = "/a"\n', ended.stdout)
        self.assertIn('control = "/b"\n', ended.stdout)
        self.assertIn('level = "debug"\n', ended.stdout)

    def test_a_fault_ends_with_78_at_its_place_whether_checked_or_run(self):
        ended, name = self.check("[executor]\nkind = \"gpu\"\n")
        self.assertEqual((ended.returncode, ended.stdout), (78, ""))
        self.assertIn(f"0x0022 InvalidConfig: {name}:2:8: executor.kind: expected one of",
                      ended.stderr)
        with Gard(GARD, config="[plan]\ndefault = 'poll+x'\n") as gard:
            self.assertEqual(gard.wait(), 78)
            self.assertIn("gard.toml:2:17: plan.default: invalid plan", gard.log())
            self.assertFalse(os.path.exists(gard.socket))

    def test_a_file_that_is_not_there_ends_with_78(self):
        ended = run(GARD, "--config", "/nonexistent/gard.toml")
        self.assertEqual(ended.returncode, 78)
        self.assertIn("No such file", ended.stderr)


class Starting(unittest.TestCase):
    def test_makes_the_sockets_and_their_directories(self):
        with Gard(GARD) as gard:
            for path in (gard.socket, gard.control):
                mode = os.stat(path).st_mode
                self.assertTrue(stat.S_ISSOCK(mode))
                self.assertIn(stat.S_IMODE(mode), (0o600, 0o660))
                self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode), 0o755)

    def test_a_socket_whose_group_does_not_exist_is_private_with_one_warning(self):
        with Gard(GARD) as gard:
            for path, group in ((gard.socket, "gard"), (gard.control, "gard-admin")):
                private = stat.S_IMODE(os.stat(path).st_mode) == 0o600
                warned = gard.log().count(f"SocketPrivate: group '{group}' does not exist")
                known = any(line.startswith(group + ":")
                            for line in pathlib.Path("/etc/group").read_text().splitlines())
                if not known:
                    self.assertEqual((private, warned), (True, 1), gard.log())
                else:
                    self.assertEqual(warned, 0)

    def test_says_what_was_asked_and_what_runs(self):
        with Gard(GARD) as gard:
            status = gard.result({"op": "status"})
            log = gard.log()
            self.assertIn(f"asked for {status['executor']['requested']}, running "
                          f"{status['executor']['running']}", log)
            self.assertIn(f"word wait: {status['word_wait']['kind']}", log)
            self.assertIn(f"asked for {SHIPPED}, running {status['plan']['running']}", log)

    def test_a_second_gard_ends_with_75_and_leaves_the_first_alone(self):
        with Gard(GARD) as gard:
            ended = run(*gard.command())
            self.assertEqual(ended.returncode, 75, ended.stderr)
            self.assertIn("AlreadyRunning", ended.stderr)
            other = run(GARD, "--socket", gard.path("other.sock"), "--control", gard.control)
            self.assertEqual(other.returncode, 75, other.stderr)
            self.assertTrue(gard.answers())

    def test_a_socket_that_a_killed_gard_left_is_replaced(self):
        with Gard(GARD) as gard:
            gard.signal(signal.SIGKILL)
            gard.wait()
            self.assertTrue(os.path.exists(gard.socket))
            gard.start()
            self.assertTrue(gard.answers(), gard.log())

    def test_what_is_no_socket_is_not_replaced(self):
        with tempfile.TemporaryDirectory() as directory:
            precious = os.path.join(directory, "precious")
            pathlib.Path(precious).write_text("data")
            ended = run(GARD, "--socket", precious, "--control", directory + "/control.sock")
            self.assertEqual(ended.returncode, 64, ended.stderr)
            self.assertEqual(pathlib.Path(precious).read_text(), "data")

    def test_a_directory_that_cannot_be_made_ends_with_70(self):
        ended = run(GARD, "--socket", "/proc/nowhere/gard.sock", "--control", "/proc/nowhere/control.sock")
        self.assertEqual(ended.returncode, 70, ended.stderr)
        self.assertIn("/proc/nowhere", ended.stderr)

    def test_a_strict_executor_that_cannot_run_ends_with_69(self):
        wanted = "[executor]\nkind = 'gpu-reactor'\nsoftware_word_wait = false\n"
        with Gard(GARD, config=wanted) as gard:
            if gard.result({"op": "status"})["word_wait"]["hardware"]:
                self.skipTest("this CPU has a hardware word wait, so every executor can run")
            status = gard.result({"op": "status"})
            self.assertEqual(status["executor"]["running"], "naive")
            self.assertEqual(status["executor"]["warning"]["name"], "ExecutorFallback")
            self.assertEqual(status["plan"]["warnings"][0]["name"], "ParkFallback")
            self.assertIn("ExecutorFallback", gard.log())
            self.assertIn("ParkFallback", gard.log())
        with Gard(GARD, config=wanted + "strictness = 'strict'\n") as gard:
            self.assertEqual(gard.wait(), 69)
            self.assertIn("ExecutorRefused", gard.log())

    def test_each_executor_that_can_run_runs_as_asked(self):
        for kind in ("naive", "gpu-reactor", "io-uring"):
            with self.subTest(kind), Gard(GARD, config=f"[executor]\nkind = '{kind}'\n") as gard:
                executor = gard.result({"op": "status"})["executor"]
                self.assertEqual(executor["requested"], kind)
                same = executor["running"] == kind
                self.assertEqual(executor["warning"] is None, same, executor)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_runs_as_an_ordinary_user_below_the_runtime_directory(self):
        with tempfile.TemporaryDirectory() as directory, gard_for_anybody() as binary:
            os.chown(directory, NOBODY, NOBODY)
            gard = Gard(binary, environment={"XDG_RUNTIME_DIR": directory}, user=NOBODY,
                        group=NOBODY, extra_groups=[])
            gard.socket = directory + "/gard/gard.sock"
            gard.control = directory + "/gard-control/control.sock"
            gard.command = lambda: [binary]
            with gard:
                self.assertTrue(gard.answers(), gard.log())
                self.assertEqual(os.stat(gard.socket).st_uid, NOBODY)


def threads_of(gard):
    """Each thread's status file as a dictionary."""
    for status in pathlib.Path(f"/proc/{gard.process.pid}/task").glob("*/status"):
        yield dict(line.split(":\t", 1) for line in status.read_text().splitlines())


class ExecutorThread(unittest.TestCase):
    def waits_thread(self, gard):
        return next(t for t in threads_of(gard) if t["Name"] == "gard-waits")

    def test_stays_on_the_cpu_that_the_configuration_names(self):
        cpu = max(os.sched_getaffinity(0))
        with Gard(GARD, config=f"[latency]\ncpu = {cpu}\n") as gard:
            self.assertEqual(self.waits_thread(gard)["Cpus_allowed_list"], str(cpu))

    def test_runs_unpinned_with_a_warning_where_there_is_no_such_cpu(self):
        with Gard(GARD, config="[latency]\ncpu = 1023\n") as gard:
            gard.logs("warning: the executor's thread: ")
            self.assertTrue(gard.answers())

    def test_says_what_is_in_force_and_how_far_sleeps_overshoot(self):
        cpu = max(os.sched_getaffinity(0))
        with Gard(GARD, config=f"[latency]\ncpu = {cpu}\n") as gard:
            status = gard.result({"op": "status"})
            self.assertGreater(status["margin_floor_us"], 0)
            thread = status["latency"]["thread"]
            self.assertEqual(thread["cpu"], cpu)
            self.assertEqual(thread["scheduling"], "other")
            self.assertEqual(thread["timer_slack_ns"], 1)
            self.assertEqual(thread["warnings"], [])
            self.assertEqual(status["latency"]["cpu_dma_latency"],
                             {"requested": False, "held": False, "changes": 0, "refused": None})

    def test_a_cpu_latency_that_is_refused_is_said_and_survived(self):
        with Gard(GARD, config="[latency]\ncpu_dma_latency = true\n") as gard:
            held = gard.result({"op": "status"})["latency"]["cpu_dma_latency"]
            self.assertTrue(held["requested"])
            self.assertFalse(held["held"], "no wait is due")
            if held["refused"]:
                gard.logs("error: latency.cpu_dma_latency: ")
            self.assertTrue(gard.answers())

    def test_is_scheduled_in_real_time_where_asked_and_allowed(self):
        with Gard(GARD, config="[latency]\nscheduling = 'fifo:7'\n") as gard:
            thread = int(self.waits_thread(gard)["Pid"])
            if "warning: the executor's thread: " in gard.log():
                self.skipTest("this host refuses real-time scheduling")
            self.assertEqual(os.sched_getscheduler(thread), os.SCHED_FIFO)
            self.assertEqual(os.sched_getparam(thread).sched_priority, 7)


class Idle(unittest.TestCase):
    def test_with_no_client_no_thread_wakes_up(self):
        def wakeups():
            return sum(int(t["voluntary_ctxt_switches"]) for t in threads_of(gard))

        for kind in ("gpu-reactor", "io-uring", "naive"):
            with self.subTest(kind), Gard(GARD, config=f"[executor]\nkind = '{kind}'\n") as gard:
                time.sleep(0.3)  # what start leaves behind: the last control connection's end
                before = wakeups()
                time.sleep(2)
                self.assertEqual(wakeups(), before)


class Signals(unittest.TestCase):
    def test_sigterm_and_sigint_stop_it_well_in_under_a_second(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with Gard(GARD) as gard, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as silent:
                silent.connect(gard.control)
                begun = time.monotonic()
                gard.signal(number)
                self.assertEqual(gard.wait(), 0, gard.log())
                self.assertLess(time.monotonic() - begun, 1.0)
                self.assertIn("stopped", gard.log())

    def test_sighup_reads_the_file_again(self):
        with Gard(GARD) as gard:
            before = default_plan(gard)
            gard.write_config("[plan]\ndefault = 'poll'\n[log]\nlevel = 'debug'\n")
            gard.signal(signal.SIGHUP)
            gard.wait_until(lambda: default_plan(gard)["requested"] == "poll")
            self.assertGreater(default_plan(gard)["generation"], before["generation"])

    def test_sighup_with_a_bad_file_leaves_all_as_it_was_and_says_so(self):
        with Gard(GARD, config="[plan]\nclients.a = 'poll'\n") as gard:
            before = gard.result({"op": "plan_show"})
            gard.write_config("[plan]\ndefault = 'pool'\nclients.a = 'block'\n")
            gard.signal(signal.SIGHUP)
            gard.logs("gard.toml:2:12")
            self.assertEqual(gard.result({"op": "plan_show"}), before)
            refused = gard.ask({"op": "reload"})["error"]
            self.assertEqual(refused["name"], "InvalidConfig")
            self.assertEqual(gard.result({"op": "plan_show"}), before)

    def test_a_reload_says_what_only_a_new_start_takes(self):
        with Gard(GARD) as gard:
            gard.write_config("[executor]\nkind = 'naive'\n")
            self.assertEqual(gard.result({"op": "reload"})["file"], gard.config)
            gard.logs("take effect with the next start")
            self.assertEqual(gard.result({"op": "status"})["executor"]["requested"], "gpu-reactor")


class Failing(unittest.TestCase):
    def test_without_memory_it_says_so_and_ends_with_70(self):
        # Its end called servers that were gone: 139, and no word of the cause.
        # One arena: what the others have reserved needs no further address space.
        one_arena = {"GLIBC_TUNABLES": "glibc.malloc.arena_max=1"}
        for kind in ("gpu-reactor", "io-uring", "naive"):
            config = f"[executor]\nkind = '{kind}'\n"
            with (self.subTest(kind), Gard(GARD, config=config, environment=one_arena) as gard,
                  contextlib.ExitStack() as peers):
                _, most = resource.prlimit(gard.process.pid, resource.RLIMIT_AS)
                resource.prlimit(gard.process.pid, resource.RLIMIT_AS, (0, most))
                with contextlib.suppress(OSError):
                    for _ in range(64):  # lines without an end, as long as one may be
                        peer = peers.enter_context(socket.socket(socket.AF_UNIX))
                        peer.connect(gard.control)
                        peer.sendall(b"x" * 65535)
                self.assertEqual(gard.wait(), 70, gard.log())
                self.assertIn("error: gard failed: std::bad_alloc\n", gard.log())


class RuntimePlans(unittest.TestCase):
    def test_win_over_the_configuration_outlive_a_reload_and_go_with_replace(self):
        with Gard(GARD, config="[plan]\ndefault = 'poll'\n") as gard:
            set_ = gard.result({"op": "plan_set", "text": "block"})
            self.assertEqual(set_["label"], "block")
            self.assertEqual(default_plan(gard)["requested"], "block")
            self.assertEqual(default_plan(gard)["generation"], set_["generation"])
            gard.result({"op": "reload"})
            self.assertEqual(default_plan(gard)["requested"], "block")
            gard.result({"op": "reload", "replace": True})
            self.assertEqual(default_plan(gard)["requested"], "poll")

    def test_are_taken_back_once(self):
        scope = {"client": "a", "point": "b"}
        with Gard(GARD) as gard:
            gard.result({"op": "plan_set", "text": "poll", **scope})
            shown = gard.result({"op": "plan_show"})["plans"]
            self.assertIn(("client_point", "a", "b", "runtime", "poll"),
                          [(p["scope"], p["client"], p["point"], p["source"], p["running"])
                           for p in shown])
            gard.result({"op": "plan_unset", **scope})
            self.assertEqual(gard.ask({"op": "plan_unset", **scope})["error"]["name"], "NotSet")

    def test_a_bad_one_changes_nothing(self):
        with Gard(GARD) as gard:
            before = default_plan(gard)
            refused = gard.ask({"op": "plan_set", "text": "poll;rows>=0:poll"})["error"]
            self.assertEqual((refused["code"], refused["position"]), (1, 11))
            self.assertEqual(default_plan(gard), before)


class Requests(unittest.TestCase):
    def test_are_answered_as_the_schemas_say(self):
        try:
            from validate_json import faults, load, validator_of
        except SystemExit:
            self.skipTest("python3-jsonschema is not installed")
        schemas = pathlib.Path(__file__).resolve().parents[2] / "proto/schemas"
        with Gard(GARD) as gard:
            for op in ("status", "caps", "clients", "streams", "points", "version", "plan_show",
                       "reload"):
                with self.subTest(op):
                    schema = load((schemas / f"{op}.schema.json").read_text())
                    answer = gard.result({"op": op})
                    self.assertEqual(faults(validator_of(schema), answer), [])

    def test_that_are_wrong_are_refused_and_harm_nobody(self):
        with Gard(GARD) as gard:
            for line, name in ((b"", "InvalidArgument"), (b"\xff\xfe", "InvalidArgument"),
                               (b"[" * 5000, "InvalidArgument"), (b'{"op":"stop"}', "UnknownRequest"),
                               (b"x" * 70000, "MalformedMessage")):
                self.assertIn(name.encode(), gard.ask_raw(line))
            self.assertTrue(gard.answers())


class RequestsOfClients(unittest.TestCase):
    """The read-only requests on the clients' socket, asked without a hello."""

    def test_read_and_change_nothing(self):
        with Gard(GARD) as gard:
            self.assertEqual(gard.ask_as_client({"op": "version"}), gard.ask({"op": "version"}))
            before = gard.result({"op": "plan_show"})
            for request in ({"op": "plan_set", "text": "poll"}, {"op": "plan_unset"},
                            {"op": "reload"}):
                refused = gard.ask_as_client(request)["error"]
                self.assertEqual(refused["name"], "PermissionDenied")
            self.assertEqual(gard.result({"op": "plan_show"}), before)

    def test_that_asks_is_no_client(self):
        with Gard(GARD) as gard:
            gard.ask_as_client({"op": "status"})
            self.assertEqual(gard.ask_as_client({"op": "clients"})["result"]["clients"], [])

    def test_of_an_ordinary_user_leave_out_plans_of_clients_that_are_not_its_own(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        with Gard(GARD, config="[plan]\nclients.a = 'poll'\npoints.b = 'poll'\n") as gard:
            os.chmod(gard.socket, 0o666)
            os.seteuid(NOBODY)
            try:
                shown = gard.ask_as_client({"op": "plan_show"})["result"]["plans"]
            finally:
                os.seteuid(0)
            self.assertEqual({p["scope"] for p in shown}, {"default", "point"})
            every = gard.ask_as_client({"op": "plan_show"})["result"]["plans"]
            self.assertEqual({p["scope"] for p in every}, {"default", "point", "client"})

    def test_in_an_answer_of_many_frames_come_whole(self):
        plans = "".join(f"c{i} = 'poll'\n" for i in range(200))
        with Gard(GARD, config="[plan.clients]\n" + plans) as gard:
            self.assertEqual(gard.ask_as_client({"op": "plan_show"}), gard.ask({"op": "plan_show"}))


class ServiceManager(unittest.TestCase):
    """A datagram socket in systemd's place."""

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="notify-")
        self.addCleanup(self.directory.cleanup)
        self.path = self.directory.name + "/notify"
        self.heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.heard.close)
        self.heard.bind(self.path)
        self.heard.settimeout(10)

    def next_with(self, words):
        while True:
            told = self.heard.recv(4096).decode()
            if words in told:
                return told

    def test_hears_ready_reloading_and_stopping(self):
        with Gard(GARD, environment={"NOTIFY_SOCKET": self.path}) as gard:
            self.assertIn("STATUS=", self.next_with("READY=1"))
            gard.signal(signal.SIGHUP)
            self.assertIn("MONOTONIC_USEC=", self.next_with("RELOADING=1"))
            self.next_with("READY=1")
            gard.signal(signal.SIGTERM)
            self.next_with("STOPPING=1")
            self.assertEqual(gard.wait(), 0)

    def test_hears_in_one_line_what_runs(self):
        with Gard(GARD, environment={"NOTIFY_SOCKET": self.path}) as gard:
            ready = self.next_with("READY=1")
            status = gard.result({"op": "status"})
            for runs in ("executor " + status["executor"]["running"],
                         "word wait " + status["word_wait"]["kind"],
                         "plan " + status["plan"]["running"]):
                self.assertIn(runs, ready)
            gard.result({"op": "plan_set", "text": "poll"})
            self.next_with("plan poll;")

    def test_hears_that_a_reload_is_over_when_it_is_in_force_or_was_refused(self):
        with Gard(GARD, environment={"NOTIFY_SOCKET": self.path}) as gard:
            self.next_with("READY=1")
            gard.write_config("[plan]\ndefault = 'block'\n")
            gard.signal(signal.SIGHUP)
            self.assertIn("plan block;", self.next_with("READY=1"))
            gard.write_config("[plan]\ndefault = 'blick'\n")
            gard.signal(signal.SIGHUP)
            self.assertIn("configuration refused", self.next_with("READY=1"))

    def test_hears_the_watchdog_only_where_it_asked_for_it(self):
        with Gard(GARD, environment={"NOTIFY_SOCKET": self.path, "WATCHDOG_USEC": "100000"}):
            for _ in range(3):
                self.next_with("WATCHDOG=1")
        with Gard(GARD, environment={"NOTIFY_SOCKET": self.path}):
            self.next_with("READY=1")
            self.heard.settimeout(0.3)
            with self.assertRaises(TimeoutError):
                self.next_with("WATCHDOG=1")

    def test_that_is_not_there_changes_nothing(self):
        with Gard(GARD, environment={"NOTIFY_SOCKET": "/nonexistent"}) as gard:
            self.assertTrue(gard.answers())


class HandedSockets(unittest.TestCase):
    """Sockets on which the service manager listened before gard was there."""

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="handed-")
        self.addCleanup(self.directory.cleanup)

    def listen(self, kind, name):
        listens = socket.socket(socket.AF_UNIX, kind)
        self.addCleanup(listens.close)
        listens.bind(f"{self.directory.name}/{name}")
        listens.listen(8)
        return listens

    def handing(self, sockets, names):
        """What runs a command as the service manager would: descriptors from 3 on, its own pid."""
        numbers = []
        for each in sockets:
            # Far from 3, so that no move overwrites what is yet to be moved.
            numbers.append(fcntl.fcntl(each.fileno(), fcntl.F_DUPFD, 100))
            os.set_inheritable(numbers[-1], True)
            self.addCleanup(os.close, numbers[-1])
        script = ("import os, sys\n"
                  f"for i, number in enumerate({numbers}): os.dup2(number, 3 + i)\n"
                  f"os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='{len(numbers)}', "
                  f"LISTEN_FDNAMES='{names}')\n"
                  "os.execv(sys.argv[1], sys.argv[1:])")
        return [sys.executable, "-c", script]

    def test_are_served_and_nothing_is_made_beside_them(self):
        clients = self.listen(socket.SOCK_SEQPACKET, "clients")
        control = self.listen(socket.SOCK_STREAM, "control")
        gard = Gard(GARD, close_fds=False)
        own = gard.socket, gard.control
        gard.before = self.handing([clients, control], "clients:control")
        gard.named = list(own)
        gard.socket, gard.control = clients.getsockname(), control.getsockname()
        with gard:
            self.assertTrue(gard.answers())
            self.assertEqual(gard.ask_as_client({"op": "version"}), gard.ask({"op": "version"}))
            gard.logs(f"--socket names {own[0]}, but the service manager listens at")
            for path in own:
                self.assertFalse(os.path.exists(path))
        self.assertTrue(os.path.exists(gard.socket), "they are the manager's to remove")

    def test_that_are_not_what_gard_serves_end_it_with_64_and_say_why(self):
        clients = self.listen(socket.SOCK_SEQPACKET, "clients")
        control = self.listen(socket.SOCK_STREAM, "control")
        for sockets, names, words in (([control], "clients", "SOCK_SEQPACKET"),
                                      ([clients], "gard.socket", "expected 'clients'"),
                                      ([clients, clients], "clients:clients", "second")):
            ended = run(*self.handing(sockets, names), GARD, close_fds=False)
            self.assertEqual(ended.returncode, 64, ended.stderr)
            self.assertIn(words, ended.stderr)


class Log(unittest.TestCase):
    def test_speaks_to_the_journal_in_its_way(self):
        gard = Gard(GARD)
        pathlib.Path(gard.path("log")).touch()
        log = os.stat(gard.path("log"))
        gard.environment["JOURNAL_STREAM"] = f"{log.st_dev}:{log.st_ino}"
        with gard:
            for line in gard.log().splitlines():
                self.assertRegex(line, r"^<[3467]>\S")

    def test_has_times_and_levels_elsewhere(self):
        with Gard(GARD, environment={"JOURNAL_STREAM": "1:1"}) as gard:
            for line in gard.log().splitlines():
                self.assertRegex(line, r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (info|warning): ")

    def test_that_nobody_reads_keeps_gard_from_nothing(self):
        # A full pipe held the thread that serves clients, requests and signals.
        for first in (b"", b"x" * 4096):
            with self.subTest(full_from_the_start=bool(first)), Gard(GARD) as gard:
                gard.end()
                reader, writer = os.pipe()
                self.addCleanup(os.close, reader)
                fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
                os.write(writer, first)
                gard.process = subprocess.Popen(gard.command(), stderr=writer,
                                                stdout=subprocess.DEVNULL, env=gard.environment)
                os.close(writer)
                gard.wait_until(gard.answers)
                before = os.read(reader, 8192).decode()
                gard.signal(signal.SIGTERM)
                self.assertEqual(gard.wait(), 0)
                after = os.read(reader, 8192).decode()
                self.assertTrue(first or "warning: " in before or "info: gard" in before, before)
                self.assertRegex(after, r"^\S+ \S+ warning: \d+ log lines were dropped\n")

    def test_shows_what_would_reorder_or_hide_a_line_as_numbers(self):
        name = "/a\u202eb\u2066c\u061cd\u00ade\u3164f\u00e9"
        told = run(GARD, "--config", name).stderr
        self.assertIn("/a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6c\\xd8\\x9cd\\xc2\\xade\\xe3\\x85\\xa4f\u00e9",
                      told)

    def test_cuts_a_line_that_a_pipe_may_not_take_at_once(self):
        told = run(GARD, "--config", "/" + "\u00e9" * 3000).stderr.encode()
        self.assertLessEqual(len(told), 4096)
        self.assertGreater(len(told), 4090)
        self.assertTrue(told.decode().endswith("\u00e9...\n"), told[-20:])

    def test_says_only_what_its_level_allows(self):
        with Gard(GARD, "--log-level", "error") as gard:
            self.assertEqual(gard.log(), "")


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
    GARD = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
