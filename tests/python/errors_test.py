"""The registry's numbers as exceptions."""

import asyncio
import importlib.util
import inspect
import pickle
import re

import pytest
from conftest import ROOT

import garclient
from garclient import error, error_numbers

DEFINED = (ROOT / "proto/errors.def").read_text()


def generator():
    spec = importlib.util.spec_from_file_location("make_errors",
                                                  ROOT / "clients/python/make_errors.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_classes_are_those_that_errors_def_generates():
    kept = (ROOT / "clients/python/garclient/error_numbers.py").read_text()
    assert generator().generated(DEFINED) == kept


def test_every_number_of_errors_def_has_its_class():
    rows = re.findall(r"^GAR_ERROR\((0x[0-9a-f]{4}), (\w+),", DEFINED, re.M)
    assert len(rows) > 40
    assert {int(number, 16): name for number, name in rows} == {
        number: kind.__name__ for number, kind in garclient.BY_NUMBER.items()}
    assert all(hasattr(garclient, name) for _, name in rows)


def test_help_on_an_error_tells_what_it_says_and_what_can_be_done():
    for kind in garclient.BY_NUMBER.values():
        told = " ".join(inspect.getdoc(kind).split())
        assert told == f"{kind.message}. {kind.remedy}"


def test_arguments_are_kept_and_stand_in_the_text():
    failure = garclient.Backend("cuStreamQuery", "700", status=700)
    assert (failure.number, failure.arguments, failure.status) == (8, ("cuStreamQuery", "700"), 700)
    assert str(failure) == "cuStreamQuery failed with status 700"


def test_a_number_without_arguments_has_a_sentence_of_its_own():
    assert str(garclient.Backend()) == "the device reported a failure"
    for kind in garclient.BY_NUMBER.values():
        assert str(kind()) and not set("{}?") & set(str(kind())), kind


@pytest.mark.parametrize("failure, habit", [
    (garclient.TimedOut("5ns"), asyncio.TimeoutError),
    (garclient.NotReachable("gone"), ConnectionError),
    (garclient.PermissionDenied("plan_set"), PermissionError),
])
def test_what_python_has_an_exception_for_is_caught_as_that(failure, habit):
    with pytest.raises(habit):
        raise failure


@pytest.mark.parametrize("failure", [garclient.TimedOut("5ns"), garclient.NotReachable("gone"),
                                     garclient.Backend("c", "7", status=7),
                                     error.error_of(0x7FFF, "new")])
def test_an_exception_survives_a_process_boundary(failure):
    again = pickle.loads(pickle.dumps(failure))
    assert (type(again), again.number, str(again), again.status) == (
        type(failure), failure.number, str(failure), failure.status)


def test_a_number_that_is_not_known_keeps_its_number_and_text():
    failure = error.error_said(0x7ABC, "from {tomorrow}")
    assert isinstance(failure, garclient.UnknownError)
    assert failure.number == 0x7ABC
    assert "tomorrow" in str(failure)


def test_a_peers_text_is_taken_as_it_is():
    assert str(error.error_said(0x1B, "4096 waits {0}")) == "4096 waits (0)"
    assert isinstance(error.error_said(0x1B, "x"), error_numbers.LimitWaits)
