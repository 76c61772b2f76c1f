#!/usr/bin/python3
"""Are the schemas of what gard, garctl, gar-demo and gar-bench print right themselves, and do they
tell a right document from a wrong one? Each schema has samples, SCHEMA.valid*.json that must pass and
SCHEMA.invalid*.json that must not."""

import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

from validate_json import faults, load, validator_of  # noqa: E402  (exits 77 where it cannot run)

SCHEMAS = {path.name.split(".")[0]: path for path in (ROOT / "proto/schemas").glob("*.json")}
SAMPLES = sorted((HERE / "samples").glob("*.json"))
# Where more keys than those named are welcome, as paths of object schemas; nowhere else.
OPEN = {
    "status": {"", "executor", "plan", "waits", "reactor", "process"},
    "answer": {"result", "error"},
}


def objects(schema, path=""):
    """Every object schema below this one, with its path."""
    if isinstance(schema, list):
        for one in schema:
            yield from objects(one, path)
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "object":
        yield path, schema
    for name, below in schema.get("properties", {}).items():
        if schema.get("type") == "object":
            yield from objects(below, f"{path}.{name}".strip("."))
    for name in ("items", "anyOf", "oneOf"):
        yield from objects(schema.get(name), path)
    for name, below in schema.get("$defs", {}).items():
        yield from objects(below, f"$defs.{name}")


class Schemas(unittest.TestCase):
    def test_there_is_one_for_each_output(self):
        outputs = ("status caps clients streams points version plan_show plan_set plan_unset "
                   "metrics figures events watch trace trace_read doctor "
                   "reload plan_check demo bench error answer")
        self.assertEqual(set(SCHEMAS), set(outputs.split()))

    def test_each_is_a_valid_schema(self):
        for name, path in SCHEMAS.items():
            with self.subTest(name):
                schema = load(path.read_text())
                self.assertEqual(schema["$schema"], "https://json-schema.org/draft/2020-12/schema")
                validator_of(schema)

    def test_each_closes_its_objects_but_where_more_is_welcome(self):
        for name, path in SCHEMAS.items():
            for at, schema in objects(load(path.read_text())):
                with self.subTest(f"{name}: {at}"):
                    closed = schema.get("additionalProperties") is False
                    self.assertEqual(closed, at not in OPEN.get(name, set()))

    def test_each_has_samples_of_both_kinds(self):
        for name in SCHEMAS:
            for kind in ("valid", "invalid"):
                with self.subTest(f"{name} {kind}"):
                    found = [s for s in SAMPLES if s.name.startswith(f"{name}.{kind}")]
                    self.assertTrue(found)

    def test_samples_pass_or_fail_as_named(self):
        for sample in SAMPLES:
            name, kind = sample.name.split(".")[:2]
            with self.subTest(sample.name):
                wrong = faults(validator_of(load(SCHEMAS[name].read_text())),
                               load(sample.read_text()))
                if kind.startswith("valid"):
                    self.assertEqual(wrong, [])
                else:
                    self.assertNotEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
