"""A large body that is parsed in slices is what it would be if it were parsed at once, and refused where that is."""

from __future__ import annotations

import json
from typing import Any

import hypothesis
import orjson
import pytest
from hypothesis import strategies as st

from evenhand.server import json_slices
from evenhand.server.json_slices import LARGE_BYTES, MOST_DEPTH, MOST_FIELDS, parse_json
from evenhand.server.problems import Problem

texts = st.text(alphabet='a,"[]{}:\\ \nü', max_size=6)
values: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-1, 1) | texts,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(texts, inner, max_size=6),
    max_leaves=60,
)
# What is put into a document somewhere, so that it may be none any more.
mistakes = st.sampled_from([b",", b"[", b"]", b"{", b"}", b'"', b"1", b":", b" ", b"\\", b"\xff", b"null", b""])


def whole(body: bytes) -> Any:
    """Parse a body at once, by two parsers that are not ours; None for one that is refused."""
    doubles: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> None:
        if len(dict(pairs)) < len(pairs):
            doubles.append("")

    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    json.loads(body, object_pairs_hook=once)
    return None if doubles else [value]


def sliced(body: bytes) -> Any:
    try:
        return [parse_json(body)]
    except Problem:
        return None


@pytest.fixture
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_slices, "LARGE_BYTES", 8)


@pytest.mark.usefixtures("small_slices")
@hypothesis.settings(suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture], max_examples=60)
@hypothesis.given(value=values, indent=st.sampled_from([None, 0, 3]), ascii=st.booleans())
def test_slices_are_the_same_as_the_whole(value: Any, indent: int | None, ascii: bool) -> None:  # noqa: A002
    body = json.dumps([value], indent=indent, ensure_ascii=ascii).encode()

    assert sliced(body) == whole(body) is not None


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("examples", [100, pytest.param(800, marks=pytest.mark.long)])
def test_what_is_no_json_is_refused_as_the_whole_is(examples: int) -> None:
    @hypothesis.settings(max_examples=examples)
    @hypothesis.given(value=values, mistake=mistakes, place=st.floats(0, 1), length=st.integers(0, 2))
    def is_refused_alike(value: Any, mistake: bytes, place: float, length: int) -> None:
        body = json.dumps([value, {"a": value}]).encode()
        at = round(place * len(body))

        changed = body[:at] + mistake + body[at + length :]

        assert sliced(changed) == whole(changed)

    is_refused_alike()


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize(
    "body",
    [
        b'[1,, {"a": [1, 2, 3, 4, 5]}]', b'[, {"a": [1, 2, 3, 4, 5]}]', b'[{"a": [1, 2, 3, 4, 5]},]',
        b'{"a": 1{"b": [1, 2, 3, 4, 5]}}', b'{"a": {"b": [1, 2, 3, 4]}, "a": 1}', b'{"a": 1, "b": 2222222, "a": 3}',
        b"[1, 2, 3, 4, 5, 6] 7", b"[1, 2, 3, 4, 5, 6]]", b"[1, 2, 3, 4, 5, 6", b"[1, 2, 3, 4, 5, 6}", b'["aaaaaaaaaaaaa',
        b'{"a" [1, 2, 3, 4, 5, 6]}', b'{[1, 2, 3, 4, 5, 6]: 1}', b'[[1, 2, 3, 4, 5] [1, 2, 3, 4, 5]]', b"[\xff\xff\xff\xff\xff\xff]",
    ],
)  # fmt: skip
def test_mistakes_between_slices_are_refused(body: bytes) -> None:
    assert whole(body) is None

    with pytest.raises(Problem):
        parse_json(body)


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize(("depth", "is_refused"), [(MOST_DEPTH, False), (MOST_DEPTH + 1, True)])
def test_what_is_nested_too_deep_is_refused(depth: int, is_refused: bool) -> None:
    body = b"[" * depth + b"]" * depth

    if is_refused:
        with pytest.raises(Problem, match="at most 150 levels"):
            parse_json(body)
    else:
        assert parse_json(body) == orjson.loads(body)


@pytest.mark.usefixtures("small_slices")
def test_a_mistake_is_found_at_its_line_and_column() -> None:
    body = '[\n {"ä": [1, 2, 3, 4, 5]},\n {"ü": "ö", "b": nil}\n]'.encode()

    with pytest.raises(Problem) as caught:
        parse_json(body)

    assert str(caught.value.detail).startswith("line 3, column ")


@pytest.mark.parametrize("count", [MOST_FIELDS, MOST_FIELDS + 1])
@pytest.mark.parametrize("padding", ["", "x" * LARGE_BYTES], ids=["small", "large"])
def test_an_object_has_a_limit_of_fields(count: int, padding: str) -> None:
    body = orjson.dumps([{f"k{number}": 1 for number in range(count)}, padding])

    if count > MOST_FIELDS:
        with pytest.raises(Problem, match="at most 10,000 fields"):
            parse_json(body)
    else:
        assert parse_json(body) == orjson.loads(body)
