"""A thread of another process that is made to hang: stopped by ptrace, alone, while the others run.

From outside it looks as any thread that hangs does, and gard needs no code of its own for it.
"""

import ctypes
import os
from pathlib import Path

PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207
WALL = 0x40000000  # __WALL: threads too

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
LIBC.ptrace.restype = ctypes.c_long


def ptrace(request, thread):
    if LIBC.ptrace(request, thread, None, None) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"ptrace: {os.strerror(number)}")


def threads(pid, name):
    """The threads of a process that have this name, the oldest first."""
    found = []
    for task in sorted(Path(f"/proc/{pid}/task").iterdir(), key=lambda task: int(task.name)):
        if (task / "comm").read_text(encoding="utf-8").strip() == name:
            found.append(int(task.name))
    return found


class HungThread:
    """with HungThread(thread): it hangs, and nobody can make it go on but by killing its process."""

    def __init__(self, thread):
        self.thread = thread

    def __enter__(self):
        ptrace(PTRACE_SEIZE, self.thread)
        ptrace(PTRACE_INTERRUPT, self.thread)
        os.waitpid(self.thread, WALL)
        return self

    def __exit__(self, *_):
        pass

    def is_gone(self):
        """A traced thread's end is its tracer's to take; the process is not gone before."""
        try:
            thread, status = os.waitpid(self.thread, WALL | os.WNOHANG)
        except ChildProcessError:
            return True
        return thread != 0 and (os.WIFEXITED(status) or os.WIFSIGNALED(status))
