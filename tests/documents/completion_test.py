"""bash completes what the programs have: commands, options, plans, and names of the running node.
usage: completion_test.py BUILD_DIRECTORY"""

import contextlib
import os
import pty
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from c_program import Compiler, need_compiler
from help_test import OPTION, command_helps, help_of, subcommands
from page import SOURCE, quiet_environment, run_checks

sys.path.insert(0, str(SOURCE / "tests/e2e"))
from gard_process import Gard  # noqa: E402

LIBRARY = Path("/usr/share/bash-completion/bash_completion")
COMPLETION = SOURCE / "clients/completion/gar.bash"
# What bash does at a Tab: the words so far, and the function of the command's completion.
DRIVE = r"""
source "$1" && source "$2" || exit 9
shift 2
COMP_LINE=$1 COMP_POINT=${#1}
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
declare specification=$(complete -p -- "${1##*/}") function
function=${specification#*-F } function=${function%% *}
"$function" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
"""
SHIPPED = ("flag:park_us=100,backstop_us=10000"
           "+predict:margin_us=200,min_sleep_us=50,max_sleep_us=50000,window=8")
NAMED_CLIENT = r"""
#include <gar.h>
#include <stdio.h>

int main(void) {
  gar_client_options o = {.struct_bytes = sizeof(o), .name = "the \"trainer\""};
  gar_wait_options at = {.struct_bytes = sizeof(at), .point = "end of batch"};
  gar_client* client = NULL;
  gar_sim* sim = NULL;
  gar_sim_queue* queue = NULL;
  gar_stream* stream = NULL;
  o.flags = GAR_CLIENT_NEED_DAEMON;
  if (gar_connect(&o, &client) || gar_sim_create(&sim) || gar_sim_queue_create(sim, &queue)) return 1;
  if (gar_sim_stream_open(client, queue, NULL, &stream)) return 1;
  uint64_t sequence = 0;
  if (gar_sim_submit(queue, 1000, NULL, 0) || gar_record(stream, &sequence)) return 1;
  if (gar_wait(stream, sequence, &at, NULL)) return 1;
  puts("waited");
  fflush(stdout);
  getchar();
  return 0;
}
"""


def words_of(line):
    """As bash has them in COMP_WORDS: a ':' or '=' that is not quoted stands by itself."""
    words = []
    for word in re.findall(r"""["'].*|(?:\\.|\S)+""", line):
        words += [word] if word[0] in "\"'" else re.findall(r"[:=]+|[^:=]+", word)
    return words + [""] if re.search(r"(?<!\\) $", line) else words


def completed(line, environment):
    """What a Tab behind `line` offers."""
    ended = subprocess.run(["bash", "--norc", "--noprofile", "-c", DRIVE, "bash", LIBRARY, COMPLETION,
                            line, *words_of(line)],
                           check=False, capture_output=True, text=True, timeout=60,
                           env=environment, stdin=subprocess.DEVNULL)
    assert ended.returncode == 0 and not ended.stderr, (line, ended)
    return {word for word in ended.stdout.splitlines() if word}


class TypingAt:
    """A bash at a terminal: what a line becomes at a Tab. `setting` is of its user's."""

    KILL_LINE, TAB, TELL = b"\x15", b"\t", b"\x07"
    START = """
source {library} && source {completion}
{setting}
bind -x '"\\C-g": printf "%s\\n" "$READLINE_LINE" >>{place}/lines'
PROMPT_COMMAND='touch {place}/ready'
"""

    def __init__(self, place, setting, environment):
        self.lines = Path(place) / "lines"
        start = Path(place) / "start"
        start.write_text(self.START.format(library=LIBRARY, completion=COMPLETION, place=place,
                                           setting=setting), encoding="utf-8")
        self.lines.touch()
        self.terminal, other = pty.openpty()
        self.shell = subprocess.Popen(["bash", "--noprofile", "--rcfile", start, "-i"],
                                      stdin=other, stdout=other, stderr=other,
                                      start_new_session=True,
                                      env=dict(environment, TERM="dumb", INPUTRC="/dev/null"))
        os.close(other)
        threading.Thread(target=self.read_all, daemon=True).start()
        self.wait_until((Path(place) / "ready").exists)

    def read_all(self):
        with contextlib.suppress(OSError):
            while os.read(self.terminal, 4096):
                pass

    @staticmethod
    def wait_until(happened):
        until = time.monotonic() + 60
        while not happened():
            assert time.monotonic() < until, "bash does not answer"
            time.sleep(0.01)

    def tabbed(self, line):
        before = self.lines.stat().st_size
        os.write(self.terminal, self.KILL_LINE + line.encode() + self.TAB + self.TELL)
        self.wait_until(lambda: self.lines.read_bytes()[before:].endswith(b"\n"))
        return self.lines.read_bytes()[before:-1].decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shell.kill()
        self.shell.wait()
        os.close(self.terminal)


def tabbed(text, offered):
    """`text` after one of the words offered: what bash replaces is what follows the last break."""
    kept = text if text[:1] in "\"'" else ""
    before = text[:1] if kept else text[:len(text) - len(re.split(r"[:=]", text)[-1])]
    return before + offered


@contextlib.contextmanager
def waiting_client(build, node):
    """A client that has waited at a point, and stays."""
    with tempfile.TemporaryDirectory(prefix="gar-completion-") as place:
        compiler = Compiler(build)
        program = Path(place) / "client"
        compiler.compile(NAMED_CLIENT, program)
        with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env=compiler.environment(GARD_SOCKET=node.socket)) as process:
            assert process.stdout.readline() == "waited\n", process.wait(10)
            yield
            process.stdin.close()


def main(build):
    build = Path(build).resolve()
    if not LIBRARY.exists():
        print("skipped: the package bash-completion is not installed")
        return 77
    path = {"PATH": f"{build}/bin:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
    alone = quiet_environment(**path)
    garctl = build / "bin/garctl"

    def differences(line, expected, environment=alone, patience_s=0):
        until = time.monotonic() + patience_s
        found = completed(line, environment)
        while found != set(expected) and time.monotonic() < until:
            found = completed(line, environment)
        if found != set(expected):
            yield f"{line!r}: offers {sorted(found)}, expected {sorted(expected)}"

    def commands_and_their_options_are_offered():
        names = subcommands(help_of(garctl))
        yield from differences("garctl ", names)
        yield from differences("garctl --json s", [name for name in names if name.startswith("s")])
        yield from differences("garctl plan ", subcommands(help_of(garctl, "plan")))
        for command, text in command_helps(garctl).items():
            yield from differences(f"garctl {command} --", set(OPTION.findall(text)))

    def options_of_the_other_programs_are_offered():
        for line in ("gard", "gar-demo", "gar-bench", "gar-bench ab", "gar-bench replay",
                     "gar-bench scale"):
            program, *command = line.split()
            text = help_of(build / "bin" / program, *command)
            yield from differences(f"{line} --", set(OPTION.findall(text)))
        yield from differences("gar-demo --device v", {"vulkan"})
        yield from differences("gar-demo --device=v", {"vulkan"})
        yield from differences("gard --log-level ", {"debug", "info", "warning", "error"})
        offered = completed("gar-bench ", alone)
        if not {"ab", "replay", "scale", "inline", "throughput"} <= offered:
            yield f"gar-bench: offers {offered}"

    def a_plan_is_completed_key_by_key():
        yield from differences("garctl plan set ", {"block", "poll", "flag:park_us="})
        yield from differences("gar-demo --plan p", {"poll"})
        yield from differences("garctl plan check flag:", {"park_us=", "backstop_us="})
        yield from differences("garctl plan check poll", {"poll", "poll+predict:margin_us="})
        yield from differences("garctl plan check poll+predict:window=8,m",
                               {"8,margin_us=", "8,min_sleep_us=", "8,max_sleep_us="})
        yield from differences('garctl plan set "block;', {"block;rows>="})
        yield from differences('garctl plan set "block;rows>=32', {"block;rows>=32:"})
        yield from differences('garctl plan set "block;rows>=32:po', {"block;rows>=32:poll"})
        yield from differences("garctl plan check block", {"block"})

    def taking_what_is_offered_gives_the_plan_as_shipped():
        for quote in ("", '"'):
            text = f"{quote}flag:"
            for _ in range(40):
                offered = {tabbed(text, each) for each in completed(f"garctl plan set {text}", alone)}
                right = [each for each in offered if SHIPPED.startswith(each[len(quote):])]
                if not right or right == [text]:
                    break
                text = max(right, key=len)
            if text != quote + SHIPPED:
                yield f"ends at {text}"

    def names_of_the_running_node_are_offered():
        # On a busy machine an answer may come after the second that completion waits for it.
        def named(line, expected):
            yield from differences(line, expected, here, patience_s=30)

        need_compiler()
        with Gard(build / "bin/gard") as node:
            here = dict(alone, GARD_SOCKET=node.socket, GARD_CONTROL=node.control)
            for scope in ({"client": "loader"}, {"point": "begin"}):
                node.result({"op": "plan_set", "text": "poll", **scope})
            with waiting_client(build, node):
                yield from named("garctl plan set poll --client ", {"loader", r"the\ \"trainer\""})
                yield from named("garctl plan set poll --client l", {"loader"})
                yield from named('garctl plan set poll --client "the', {r'the \"trainer\"'})
                yield from named('garctl plan set poll --client "the \\"', {r'the \"trainer\"'})
                yield from named("garctl plan set poll --client the\\ ", {r"the\ \"trainer\""})
                yield from named("garctl plan unset --point ", {"begin", r"end\ of\ batch"})
            here = alone
            yield from named(f"garctl --control {node.control} plan unset --point ", {"begin"})
            yield from named(f"garctl --control={node.control} plan unset --point=", {"begin"})
            yield from named(f"garctl --control={node.control} plan unset --client=l", {"loader"})

    def a_name_is_offered_as_that_text_and_nothing_else():
        # What is offered is put into a line that a shell then reads: a client may call itself a command.
        names = ("a$(x)", "a`x`", 'a";x;"', r"a\x", "a!x", "a'x", "host:rank0", "host:a=b")
        with Gard(build / "bin/gard") as node:
            for name in names:
                node.result({"op": "plan_set", "text": "poll", "client": name})
            here = dict(alone, GARD_SOCKET=node.socket, GARD_CONTROL=node.control)

            def read_back(start, expected):
                """What a shell reads of the words offered behind `start`."""
                until = time.monotonic() + 30
                read = set()
                while read != set(expected) and time.monotonic() < until:
                    offered = completed(f"garctl plan unset --client {start}", here)
                    words = [tabbed(start, each) + start[:1].strip("ah") for each in offered]
                    read = {subprocess.run(["bash", "--norc", "-c", f"printf %s {word}"], check=True,
                                           capture_output=True, text=True).stdout for word in words}
                if read != set(expected):
                    yield f"behind {start}: a shell reads {sorted(read)}, expected {sorted(expected)}"
            yield from read_back("a", names[:6])
            yield from read_back('"a', set(names[:6]) - {"a!x"})
            yield from read_back("'a", set(names[:6]) - {"a'x"})
            yield from read_back("host:", names[6:])
            yield from read_back("host:a=", names[7:])
            yield from read_back('"host:', names[6:])

    def what_a_tab_puts_in_is_right_wherever_bash_breaks_words():
        # What bash replaces at a Tab begins where the user's bash has it begin.
        settings = ("", "shopt -s hostcomplete", "COMP_WORDBREAKS=${COMP_WORDBREAKS//[:=@]}")
        by_name = {"user@h": "user@host", "user@host:": "user@host:2 ", "a=": "a=b@c ",
                   "a=b@": "a=b@c ", "@": "@lead ", '"user@host:': '"user@host:2" ',
                   r"with\ blank@": r"with\ blank@2 "}
        by_line = {"garctl plan check flag:pa": "garctl plan check flag:park_us=",
                   "garctl plan check flag:park_us=": "garctl plan check flag:park_us=100"}
        with Gard(build / "bin/gard") as node:
            for name in ("user@host", "user@host:2", "a=b@c", "@lead", "with blank@2"):
                node.result({"op": "plan_set", "text": "poll", "client": name})
            here = dict(alone, GARD_SOCKET=node.socket, GARD_CONTROL=node.control)
            before = "garctl plan unset --client "
            expected = {before + typed: before + put for typed, put in by_name.items()} | by_line
            for setting in settings:
                with tempfile.TemporaryDirectory(prefix="gar-completion-") as place, \
                        TypingAt(place, setting, here) as bash:
                    for line, right in expected.items():
                        until = time.monotonic() + 30  # for a gard on a busy machine
                        while (found := bash.tabbed(line)) != right and time.monotonic() < until:
                            pass
                        if found != right:
                            yield f"{setting!r}: {line!r} becomes {found!r}, expected {right!r}"

    def without_a_gard_there_are_no_names_and_no_words():
        yield from differences("garctl plan set poll --client ", ())
        yield from differences("garctl plan unset --point x", ())

    def a_gard_that_is_silent_is_left():
        with tempfile.TemporaryDirectory(prefix="gar-completion-") as place, socket.socket(
                socket.AF_UNIX) as silent:
            silent.bind(f"{place}/control.sock")
            silent.listen()
            yield from differences("garctl plan unset --point ", (),
                                   dict(alone, GARD_CONTROL=f"{place}/control.sock"))

    return run_checks(commands_and_their_options_are_offered,
                      options_of_the_other_programs_are_offered, a_plan_is_completed_key_by_key,
                      taking_what_is_offered_gives_the_plan_as_shipped,
                      names_of_the_running_node_are_offered,
                      a_name_is_offered_as_that_text_and_nothing_else,
                      what_a_tab_puts_in_is_right_wherever_bash_breaks_words,
                      without_a_gard_there_are_no_names_and_no_words, a_gard_that_is_silent_is_left)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
