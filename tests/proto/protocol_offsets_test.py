#!/usr/bin/python3
"""Are the offsets and sizes in PROTOCOL.md those that wire.hpp and pages.hpp assert? Every field
that is asserted must stand in a table, and every row of a table must be asserted. And do the vectors read,
by the tables alone, as their manifest says?"""

import json
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
    "wait": ["wait_entry"], "completion": ["completion_entry"], "probe": ["probe_entry"],
    "status": ["status_entry"], "outcome": ["outcome_entry"], "error": ["error_fixed"],
    "ask": ["ask_fixed"], "answer": ["answer_fixed"], "kick": [],
}
SIGNED = {("completion_entry", "status"), ("status_entry", "status")}
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


def read_field(struct, field, raw, expected):
    """The field's bytes as what the manifest says it is: a text or a number."""
    if isinstance(expected, str):
        return raw.rstrip(b"\0").decode()
    return int.from_bytes(raw, "little", signed=(struct, field) in SIGNED)


class Vectors(unittest.TestCase):
    def check(self, struct, rows, frame, start, fields):
        for offset, size, field in rows:
            if field == "reserved":
                self.assertEqual(frame[start + offset:start + offset + size], bytes(size))
                continue
            raw = frame[start + offset:start + offset + size]
            self.assertEqual(read_field(struct, field, raw, fields[field]), fields[field], field)

    def test_valid_ones_read_by_the_tables_as_the_manifest_says(self):
        manifest = json.loads((ROOT / "proto/vectors/manifest.json").read_text())
        _, sizes = asserted()
        found = tables()
        read = 0
        for vector in manifest["vectors"]:
            if "fields" not in vector or vector["message"] in ("cancel", "closed"):
                continue
            frame = (ROOT / "proto/vectors" / vector["file"]).read_bytes()
            with self.subTest(vector["file"]):
                fields, at = vector["fields"], 8
                for struct in TABLES[vector["message"]]:
                    if struct.endswith("_fixed"):
                        self.check(struct, found[struct], frame, 0, fields)
                        at = sizes[struct]
                        continue
                    for entry in fields.get("entries", []):
                        self.check(struct, found[struct], frame, at, entry)
                        at += sizes[struct]
                self.assertEqual(frame[at:].decode(), fields.get("text", ""))
                read += 1
        self.assertGreater(read, 30)


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
