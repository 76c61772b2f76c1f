#!/usr/bin/python3
"""Are the offsets and sizes in PROTOCOL.md those that wire.hpp and pages.hpp assert? Every field
that is asserted must stand in a table, and every row of a table must be asserted."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WIRE = (ROOT / "proto/wire.hpp").read_text()
PROTOCOL = (ROOT / "proto/PROTOCOL.md").read_text()

# The tables of each message in their order, as structs of wire.hpp.
TABLES = {
    "hello": ["hello_fixed", "driver_entry"], "welcome": ["welcome_fixed"], "page": ["page_fixed"],
    "bye": ["bye_fixed"], "open": ["open_fixed"], "opened": ["opened_fixed"],
    "close": ["close_fixed"], "plan": ["plan_fixed"], "point": ["point_fixed"],
    "wait": ["wait_fixed"], "completion": ["completion_entry"], "probe": ["probe_entry"],
    "status": ["status_entry"], "outcome": ["outcome_entry"], "error": ["error_fixed"],
    "ask": ["ask_fixed"], "answer": ["answer_fixed"],
}
IN_PROSE = {"cancel_fixed", "closed_fixed", "header"}


def asserted():
    """struct -> {field: offset}, struct -> size"""
    offsets, sizes = {}, {}
    for struct, size in re.findall(r"GAR_LAYOUT\((\w+), (\d+)\)", WIRE):
        sizes[struct] = int(size)
    for struct, field, offset in re.findall(r"GAR_AT\((\w+), (\w+), (\d+)\)", WIRE):
        offsets.setdefault(struct, {})[field] = int(offset)
    return offsets, sizes


def tables():
    """struct -> [(offset, size, field)], from the rows behind each message's bold name."""
    found, message, nth, inside = {}, None, -1, False
    for line in PROTOCOL.splitlines():
        started = re.match(r"\*\*(\w+) \(\d+\)\*\*", line)
        if started:
            message, nth, inside = started.group(1), -1, False
        row = re.match(r"\| (\d+) \| (\d+) \| `?(\w+)`? \|", line)
        if row and message in TABLES:
            if not inside:
                nth += 1
            inside = True
            if nth < len(TABLES[message]):
                struct = TABLES[message][nth]
                found.setdefault(struct, []).append(
                    (int(row.group(1)), int(row.group(2)), row.group(3)))
        elif not line.startswith("|"):
            inside = False
        if line.startswith("#"):
            message = None
    return found


class Offsets(unittest.TestCase):
    def test_every_asserted_struct_has_its_table(self):
        _, sizes = asserted()
        self.assertEqual(set(tables()) | IN_PROSE, set(sizes))

    def test_tables_say_what_is_asserted(self):
        offsets, sizes = asserted()
        for struct, rows in tables().items():
            shown = {field: offset for offset, _, field in rows}
            for field, offset in offsets[struct].items():
                with self.subTest(f"{struct}.{field}"):
                    self.assertEqual(shown.get(field), offset)
            with self.subTest(f"{struct} has no field that is not asserted"):
                self.assertEqual(set(shown) - set(offsets[struct]) - {"reserved"}, set())

    def test_rows_follow_each_other_without_gap_to_the_end(self):
        _, sizes = asserted()
        for struct, rows in tables().items():
            with self.subTest(struct):
                at = 8 if struct.endswith("_fixed") else 0
                for offset, size, _ in rows:
                    self.assertEqual(offset, at)
                    at += size
                self.assertEqual(at, sizes[struct])


if __name__ == "__main__":
    unittest.main()
