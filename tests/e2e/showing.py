"""What a person looks at: garctl top, on a terminal and piped, and garctl report."""

import fcntl
import os
import pty
import signal
import stat
import struct
import subprocess
import termios
import threading
import time

from node import eventually, require, test


class Terminal:
    """A program on a terminal of 80 by 24; what it wrote so far."""

    def __init__(self, node, *command):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave,
                                        env={**node.environment, "TERM": "xterm",
                                             "LANG": "C.UTF-8"})
        node.processes.append(self.process)
        self.wrote = b""
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            while part := os.read(self.master, 4096):
                self.wrote += part
        except OSError:
            pass

    def shows(self, text):
        eventually(lambda: text.encode() in self.wrote, 30, f"the screen shows {text!r}")

    def type(self, keys):
        self.wrote = b""
        os.write(self.master, keys.encode())

    def is_as_before(self):
        return termios.tcgetattr(self.slave)[:4] == self.before[:4]


@test
def top_on_a_terminal_shows_lists_and_gives_the_terminal_back(node):
    node.start_gard()
    client = node.client("shown", 2)
    require(client.ask("wait 2").get("right") is True, "a wait ends right")
    screen = Terminal(node, node.build / "bin/garctl", "top")
    screen.shows(": shown")
    screen.shows("q: quit")
    screen.type("s")
    screen.shows("stream 1")
    screen.type("/\x1bOA")  # an arrow is no text
    screen.shows("filter: _")
    screen.type("\n/nobody\n")
    screen.shows("match the filter")
    screen.type("q")
    require(screen.process.wait(30) == 0, "garctl's exit status")
    require(screen.is_as_before(), "the terminal is as it was")
    client.close()


@test
def top_that_is_interrupted_gives_the_terminal_back(node):
    node.start_gard()
    screen = Terminal(node, node.build / "bin/garctl", "top")
    screen.shows("q: quit")
    screen.process.send_signal(signal.SIGINT)
    require(screen.process.wait(30) == 0, "garctl's exit status")
    require(screen.is_as_before(), "the terminal is as it was")


@test
def top_outlives_a_restart_of_gard(node):
    node.start_gard()
    screen = Terminal(node, node.build / "bin/garctl", "top")
    screen.shows("q: quit")
    node.stop_gard()
    screen.shows("not reachable")
    node.start_gard()
    node.client("afterwards")
    screen.shows(": afterwards")
    screen.type("q")
    require(screen.process.wait(30) == 0, "garctl's exit status")


@test
def top_that_is_piped_prints_a_page(node):
    node.start_gard()
    client = node.client("piped", 1)
    page = node.garctl("top").stdout
    require(": piped" in page and "CPU given back" in page and "\x1b" not in page, page)
    client.close()
    node.stop_gard()
    ended = node.garctl("top", check=False)
    require(ended.returncode == 3 and "NotReachable" in ended.stderr, ended)


class Piped:
    """A garctl top whose pages and complaints go into files."""

    def __init__(self, node, *arguments):
        self.files = [open(node.directory / name, "w+") for name in ("pages", "complaints")]
        self.process = subprocess.Popen([node.build / "bin/garctl", "top", *arguments],
                                        stdin=subprocess.DEVNULL, stdout=self.files[0],
                                        stderr=self.files[1], env=node.environment)
        node.processes.append(self.process)

    def wrote(self, which=0):
        self.files[which].seek(0)
        return self.files[which].read()

    def complaints(self):
        return self.wrote(1).splitlines()

    def shows(self, text):
        eventually(lambda: text in self.wrote(), 30, f"a page shows {text!r}")


@test
def top_that_is_piped_goes_on_with_the_next_gard(node):
    node.start_gard()
    node.client("before").kill()
    piped = Piped(node, "--for", "60s")
    piped.shows("CPU given back")
    node.stop_gard()
    eventually(piped.complaints, 30, "it is said that gard is gone")
    pages = piped.wrote()
    time.sleep(2.5)  # two looks more
    require(piped.process.poll() is None and piped.wrote() == pages, "it waits, and writes nothing")
    require(piped.complaints() == ["garctl: gard is gone; waiting for the next one"],
            piped.complaints())
    node.start_gard()
    node.client("afterwards")
    piped.shows(": afterwards")
    require(len(piped.complaints()) == 1, "it is said once:", piped.complaints())
    piped.process.kill()


@test
def top_that_is_piped_ends_as_gard_is_when_its_time_is_over(node):
    node.start_gard()
    gone = Piped(node, "--for", "4s")
    gone.shows("CPU given back")
    node.stop_gard()
    require(gone.process.wait(30) == 3, "gard is gone at the end:", gone.process.returncode)
    node.start_gard()
    back = Piped(node, "--for", "6s")
    back.shows("CPU given back")
    node.stop_gard()
    eventually(back.complaints, 30, "it has seen that gard is gone")
    node.start_gard()
    require(back.process.wait(30) == 0, "gard is back at the end:", back.process.returncode)


@test
def top_ends_quietly_where_its_reader_leaves(node):
    node.start_gard()
    garctl = f"{node.build}/bin/garctl"
    ended = node.run("bash", "-c", f"{garctl} top --for 60s | head -1", timeout=30)
    require("gard" in ended.stdout and ended.stderr == "", ended)
    # As in a service, where the signal is ignored.
    unread, written = os.pipe()
    os.close(unread)
    ended = subprocess.run([garctl, "top", "--for", "60s"], stdin=subprocess.DEVNULL,
                           stdout=written, timeout=30, stderr=subprocess.PIPE,
                           env=node.environment, check=False, restore_signals=False)
    os.close(written)
    require(ended.returncode == 1 and ended.stderr == b"", ended)
    # Nothing is written while gard is gone.
    piped = subprocess.Popen([garctl, "top", "--for", "60s"], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             env=node.environment)
    node.processes.append(piped)
    require(piped.stdout.readline(), "a page")
    node.stop_gard()
    piped.stdout.close()
    piped.wait(30)


@test
def report_is_one_page_that_needs_nothing_else(node):
    node.start_gard('[plan]\ndefault = "flag:park_us=100,backstop_us=10000"\n')
    client = node.client("<b>reported</b>", 1)
    for _ in range(5):
        require(client.ask("wait 2").get("right") is True, "a wait ends right")
    eventually(lambda: node.status()["waits"]["completed"] >= 5, 30, "the waits are counted")
    file = node.directory / "report.html"
    node.garctl("report", "--output", file)
    page = file.read_text()
    require(page.startswith("<!doctype html>") and page.endswith("</html>\n"), page[:200])
    require("&lt;b&gt;reported&lt;/b&gt;" in page and "<b>reported" not in page, "names are text")
    plans = page.replace("<wbr>", "")  # where they may break
    require("flag:park_us=100,backstop_us=10000" in plans and "<svg" in page, "plans are compared")
    require("http" not in page and "<script" not in page, "nothing comes from elsewhere")
    client.close()
    node.stop_gard()
    ended = node.garctl("report", "--output", file, check=False)
    require(ended.returncode == 3 and file.read_text() == page, "an earlier one is kept", ended)


@test
def report_goes_where_it_is_told_to(node):
    node.start_gard()
    pipe, link, page = (node.directory / name for name in ("pipe", "link", "page.html"))
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
    reader.start()
    node.garctl("report", "--output", pipe)
    reader.join(30)
    require(got and got[0].endswith("</html>\n"), "a pipe's reader has the page")
    require(stat.S_ISFIFO(pipe.stat().st_mode), "the pipe is still there")
    page.write_text("before")
    link.symlink_to(page)
    victim = node.directory / "victim"
    victim.write_text("precious")
    page.with_name("page.html.part").symlink_to(victim)
    node.garctl("report", "--output", link)
    require(link.is_symlink() and page.read_text().endswith("</html>\n"), "a link is followed")
    require(victim.read_text() == "precious", "what was planted beside it is not")
