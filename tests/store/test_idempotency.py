"""A request under a key is done once, in both databases."""

from __future__ import annotations

import pytest

from evenhand.domain.errors import ConflictError
from evenhand.domain.prompt import FieldError
from evenhand.store.store import Store

from .databases import in_sqlite


def test_a_request_under_a_key_is_done_once(store: Store) -> None:
    keys = store.idempotency_keys

    first = keys.once("k", {"a": 1}, lambda: "done")
    second = keys.once("k", {"a": 1}, lambda: "done again")

    assert (first, second) == (("done", True), ("done", False))
    assert (keys.outcome("k", {"a": 1}), keys.outcome("other", {"a": 1})) == ("done", None)


def test_without_a_key_it_is_done_each_time(store: Store) -> None:
    assert [store.idempotency_keys.once(None, {}, lambda: "done") for _ in range(2)] == [("done", True)] * 2


def test_a_key_of_another_request_is_refused(store: Store) -> None:
    store.idempotency_keys.once("k", {"a": 1}, lambda: "done")

    with pytest.raises(ConflictError, match="was used for another request"):
        store.idempotency_keys.once("k", {"a": 2}, lambda: "done")


def test_a_request_that_failed_leaves_its_key_free(store: Store) -> None:
    def fail() -> str:
        raise ConflictError("no")

    with pytest.raises(ConflictError, match="no"):
        store.idempotency_keys.once("k", {}, fail)

    assert store.idempotency_keys.once("k", {}, lambda: "done") == ("done", True)


def test_a_key_can_be_freed(store: Store) -> None:
    store.idempotency_keys.once("k", {}, lambda: "done")

    store.idempotency_keys.forget("k")

    assert store.idempotency_keys.outcome("k", {}) is None


@in_sqlite
@pytest.mark.parametrize("key", ["", "k" * 201, "a\nb"], ids=["empty", "long", "not printable"])
def test_a_key_must_be_short_and_printable(store: Store, key: str) -> None:
    with pytest.raises(FieldError, match="1 to 200 printable characters"):
        store.idempotency_keys.once(key, {}, lambda: "done")
