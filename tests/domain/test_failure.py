"""Failures as values."""

from __future__ import annotations

import copy
import json
import pickle

import orjson
import pytest

from evenhand.domain.failure import Failure


def test_a_failure_is_stored_and_shown_as_its_kind_and_its_message() -> None:
    failure = Failure("timeout", "no reply within 30 s: given up")

    assert failure == "timeout: no reply within 30 s: given up"
    assert json.loads(json.dumps([failure])) == orjson.loads(orjson.dumps([failure])) == [str(failure)]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda failure: pickle.loads(pickle.dumps(failure))])
def test_a_copy_knows_both(copied: object) -> None:
    assert callable(copied)

    failure = copied(Failure("timeout", "no reply: none"))

    assert (type(failure), failure.kind, failure.message) == (Failure, "timeout", "no reply: none")


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("timeout: no reply", "timeout", "no reply"),
        ("crashed: KeyError: 'x'", "crashed", "KeyError: 'x'"),
        ("something went wrong", "something went wrong", ""),
        ("", "", ""),
    ],
)
def test_a_text_is_read(text: str, kind: str, message: str) -> None:
    failure = Failure.of(text)

    assert (failure.kind, failure.message, failure) == (kind, message, text)


def test_a_failure_is_not_read_again() -> None:
    failure = Failure("not: a kind", "x")

    assert Failure.of(failure) is failure


def test_the_failure_of_a_target_or_of_a_member_is_found_in_the_message() -> None:
    failure = Failure.of("members: none could be counted (a: unauthorized: HTTP 401; b: no score)")

    assert failure.is_one_of(["unauthorized"])
    assert failure.is_one_of(["members"])
    assert not failure.is_one_of(["unauthorize", "score", "HTTP"])
