"""A software device: streams in order, durations as told, faults on request. One thread each.

Its authority is its own record of what ended, never the word.
"""

import queue
import threading
import time

from garclient import Backend, Device


class SoftwareDevice(Device):
    name = "software"

    def __init__(self):
        self._work = queue.Queue()
        self._done = 0
        self._error = None
        self._faults = []
        self.truth = 0
        self.queries = 0
        self.records = 0
        self.mapped = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    # What a test does.

    def submit(self, duration_s, hold=None):
        """Work that lasts so long, or until the event `hold` is set."""
        self._work.put(("work", duration_s, hold))

    def fault(self, name, value=0):
        """Of the next record: lost, late (by value s), early; of the next work: error (status)."""
        self._faults.append((name, value))

    def _take_fault(self, *names):
        for fault in self._faults:
            if fault[0] in names:
                self._faults.remove(fault)
                return fault
        return (None, 0)

    def _run(self):
        while True:
            item = self._work.get()
            if item is None:
                return
            if item[0] == "settle":
                item[1].set()
            elif item[0] == "work":
                self._do_work(*item[1:])
            elif self._error is None:
                self._end_record(*item[1:])

    def _do_work(self, duration_s, hold):
        fault, status = self._take_fault("error")
        if hold is not None:
            hold.wait(60)
        else:
            time.sleep(duration_s)
        if fault:
            self._error = Backend("software.work", str(status), status=status)
        else:
            self.truth += 1

    def _end_record(self, sequence, word, bell, fault):
        self._done = sequence
        if fault[0] == "late":
            time.sleep(fault[1])
        if fault[0] not in ("lost", "early"):
            self._store(word, bell)

    @staticmethod
    def _store(word, bell):
        word.word.store(word.value)
        if bell is not None:
            bell.word.store(bell.value)

    # The verbs.

    def map(self, page):
        self.mapped.append(page)

    def unmap(self, page):
        self.mapped.remove(page)

    def arm(self, sequence, word, bell):
        fault = self._take_fault("lost", "late", "early", "arm")
        if fault[0] == "arm":
            raise Backend("software.arm", str(fault[1]), status=fault[1])
        self.records += 1
        if fault[0] == "early":
            self._store(word, bell)
        self._work.put(("record", sequence, word, bell, fault))

    def query(self, sequence):
        self.queries += 1
        if self._done >= sequence:
            return True
        if self._error is not None:
            raise self._error
        return False

    def settle(self):
        if self._error is not None:
            raise self._error
        landed = threading.Event()
        self._work.put(("settle", landed))
        landed.wait(60)

    def close(self):
        self._work.put(None)
        self._thread.join()
