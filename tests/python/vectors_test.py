"""proto/vectors, read and written by the package's own codec."""

import json

import pytest
from conftest import ROOT

from garclient import GarError, frames

VECTORS = ROOT / "proto/vectors"
MANIFEST = json.loads((VECTORS / "manifest.json").read_text())["vectors"]
TAKEN = [v for v in MANIFEST if not v["file"].startswith("invalid/")]
VALID = [v for v in TAKEN if v["file"].startswith("valid/")]
INVALID = [v for v in MANIFEST if v["file"].startswith("invalid/")]


def fields_of(message):
    fields = message._asdict()
    if "entries" in fields:
        fields["entries"] = [entry._asdict() for entry in fields["entries"]]
    return {name: value for name, value in fields.items()
            if name not in ("entries", "text") or value}


def test_there_are_vectors_of_every_message():
    of = {frames.TYPE_OF[type(frames.decode((VECTORS / v["file"]).read_bytes()))] for v in VALID}
    assert of == set(range(1, 21))


@pytest.mark.parametrize("vector", VALID, ids=lambda v: v["file"])
def test_a_valid_one_reads_as_the_manifest_says_and_is_written_the_same(vector):
    frame = (VECTORS / vector["file"]).read_bytes()
    message = frames.decode(frame)
    assert fields_of(message) == vector["fields"]
    assert frames.encode(message) == frame


@pytest.mark.parametrize("vector", INVALID, ids=lambda v: v["file"])
def test_an_invalid_one_is_refused_with_its_number(vector):
    with pytest.raises(GarError) as refusal:
        frames.decode((VECTORS / vector["file"]).read_bytes())
    assert refusal.value.number == vector["error"]


def test_what_is_out_of_state_is_no_malformed_message():
    for vector in TAKEN:
        frames.decode((VECTORS / vector["file"]).read_bytes())
