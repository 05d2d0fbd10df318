"""YAML is read strictly, whoever parses it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import yaml

from evenhand.domain.errors import ConfigError
from evenhand.suites import yaml_reader
from evenhand.suites.text_file import TextFile
from evenhand.suites.values import INLINE, MAX_BYTES, Mapped, Piece, plain
from evenhand.suites.yaml_reader import LOADER, YamlReader, may_have_keys_after

pytestmark = pytest.mark.slow  # many small ones, which together would take the fast tests beyond their minute

Read: TypeAlias = Callable[[str | bytes], list[Piece]]

KEYS = frozenset({"cases"})


@pytest.fixture(params=[yaml.CSafeLoader, yaml.SafeLoader], ids=["libyaml", "pure"])
def read(request: pytest.FixtureRequest) -> Read:
    def pieces(text: str | bytes) -> list[Piece]:
        Path("suite.yaml").write_bytes(text.encode() if isinstance(text, str) else text)
        with TextFile(Path("suite.yaml")) as file:
            return list(YamlReader(file, loader=request.param).suite(KEYS))

    return pieces


def faults(pieces: list[Piece]) -> list[tuple[int, str]]:
    return [(fault.line, fault.text) for piece in pieces for fault in piece.faults]


def test_libyaml_is_used_where_it_is_there() -> None:
    assert LOADER is yaml.CSafeLoader


def test_keys_and_cases_come_one_by_one_with_their_lines(read: Read) -> None:
    pieces = read("# a suite\nname: first\ncases:\n- id: a\n\n- {id: b,\n   input: x}\ntimeout: 5\n")

    assert [(piece.key, piece.line, plain(piece.value)) for piece in pieces if piece.value is not INLINE] == [
        ("name", 2, "first"),
        (None, 4, {"id": "a"}),
        (None, 6, {"id": "b", "input": "x"}),
        ("timeout", 8, 5),
    ]
    assert [piece.line for piece in pieces if piece.value is INLINE] == [3]
    assert pieces[3].value.lines == {"id": 6, "input": 7}


def test_nested_values_know_their_lines(read: Read) -> None:
    (piece,) = read("evaluators:\n  - type: composite\n    members:\n      - type: contains\n      - type: equals\n")

    (composite,) = piece.value
    assert (composite.line, composite.lines["members"]) == (2, 3)
    assert composite["members"].lines == [4, 5]
    assert [member.line for member in composite["members"]] == [4, 5]


def test_quoted_words_are_text(read: Read) -> None:
    (piece,) = read("a: {b: 'no', c: \"1e3\", d: ''}\n")

    assert plain(piece.value) == {"b": "no", "c": "1e3", "d": ""}


def test_block_texts_are_text(read: Read) -> None:
    (piece,) = read("a:\n  b: |\n    no\n  c: >-\n    1e3\n")

    assert plain(piece.value) == {"b": "no\n", "c": "1e3"}


def test_tags_of_plain_data_are_taken_at_their_word(read: Read) -> None:
    (piece,) = read(
        "a: !!map {b: !!str 12, c: !!int '12', d: !!float 1, e: !!bool 'true', f: !!null '', g: !!seq [x], h: ! no}"
    )

    assert plain(piece.value) == {
        "b": "12", "c": 12, "d": 1, "e": True, "f": None, "g": ["x"], "h": "no",
    }  # fmt: skip
    assert piece.faults == ()


@pytest.mark.parametrize("value", ["!!int x", "!!bool 1", "!!int true", "!!null x", "!!float no"])
def test_a_tag_that_does_not_fit_is_refused(read: Read, value: str) -> None:
    assert len(faults(read(f"a: {value}"))) == 1


@pytest.mark.parametrize(
    "value",
    [
        "!!python/object/apply:os.system [echo]", "!!python/name:os.system x", "!!binary aGk=", "!!timestamp 2024-01-01",
        "!!set {a}", "!!omap [a: 1]", "!foo bar", "!<tag:example.org,2000:x> y", "!!map [a]", "!!seq {a: b}", "!!str [a]",
        "!!yaml x", "!!value x", "!!merge x",
    ],
)  # fmt: skip
def test_other_tags_are_refused(read: Read, value: str) -> None:
    found = faults(read(f"name: x\na: {value}"))

    assert found[0][0] == 2
    assert found[0][1].startswith("the tag ")
    assert "refused" in found[0][1]


def test_anchors_and_aliases_are_refused(read: Read) -> None:
    assert faults(read("a: &x 1\nb: *x\nc: &y [1]\nd: &z {e: 1}\n")) == [
        (1, "&x is an anchor; write out what it stands for wherever it is used"),
        (2, "*x is an alias; write out what it stands for"),
        (3, "&y is an anchor; write out what it stands for wherever it is used"),
        (4, "&z is an anchor; write out what it stands for wherever it is used"),
    ]


def test_an_alias_bomb_stays_small(read: Read) -> None:
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 30)]

    pieces = read("\n".join(["l0: &l0 x", *levels]))

    assert all(piece.faults for piece in pieces)
    assert pieces[-1].value == [None] * 9


def test_a_merge_key_is_refused(read: Read) -> None:
    assert faults(read("a: {<<: {b: 1}}")) == [(1, "<< is a merge key; write the keys out")]
    assert faults(read("a: {'<<': {b: 1}}")) == []


@pytest.mark.parametrize(
    "text", ["a:\n  b: 1\n  c: 2\n  b: 3", "a: {b: 1,\nc: 2,\n 'b': 3}", "x: 1\n\na: {'1': 1, 1: 2}"]
)
def test_a_key_that_stands_twice_is_refused(read: Read, text: str) -> None:
    ((line, told),) = faults(read(text))

    assert line in {3, 4}
    assert "first in line" in told


def test_a_key_of_the_suite_that_stands_twice_is_refused(read: Read) -> None:
    assert faults(read("a: 1\nb: 2\na: 3\n")) == [(3, "duplicate key 'a'; first in line 1")]


def test_whole_numbers_as_keys_are_text_as_in_json(read: Read) -> None:
    (piece,) = read("a: {0: bad, 10: good}")

    assert plain(piece.value) == {"0": "bad", "10": "good"}


@pytest.mark.parametrize("key", ["no", "on", "1.5", "true", "~", "010", "1:30"])
def test_other_keys_must_be_text(read: Read, key: str) -> None:
    ((line, told),) = faults(read(f"x: 1\n{key}: y"))

    assert line == 2
    assert "quotes" in told


@pytest.mark.parametrize("text", ["? [a]\n: b", "? {a: b}\n: c", "[a]: b"])
def test_a_key_that_is_a_collection_is_refused(read: Read, text: str) -> None:
    with pytest.raises(ConfigError, match=r"^suite\.yaml:1: a key must be text$"):
        read(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: 1\n---\nb: 2\n", "suite.yaml:2: a second document begins here; write one suite per file"),
        ("- a\n", "suite.yaml:1: a suite is a mapping with keys such as evaluators and cases, not a list"),
        ("hello\n", "suite.yaml:1: a suite is a mapping with keys such as evaluators and cases, not text"),
        ("", "suite.yaml: the file is empty; a suite is a mapping with keys such as evaluators and cases"),
        ("# nothing\n", "suite.yaml: the file is empty; a suite is a mapping with keys such as evaluators and cases"),
        ("a:\n\t- b\n", "suite.yaml:2: a tab; indent with spaces"),
        ("a: 1\nb: @c\n", "suite.yaml:2: text cannot begin with @; put it in quotes"),
        ("a: 1\nb: `c`\n", "suite.yaml:2: text cannot begin with `; put it in quotes"),
        ("a: 1\nb: c: d\n", "suite.yaml:2: a colon is not allowed here; quote text that has ': ', or fix the indentation"),
        ("a: 1\nb: \"c\n\nd: e\n", "suite.yaml:2: a quote is opened here and never closed"),
        ("a: 1\nb: [c,\n d\n", "suite.yaml:2: a list that is opened with [ is not closed, or lacks a comma"),
        ("a: 1\nb: {c: d\n", "suite.yaml:2: a mapping that is opened with { is not closed, or lacks a comma"),
        ("a: \"\\q\"\n", "suite.yaml:1: a backslash in double quotes begins an escape; use single quotes, or double it"),
        ("a: |\n  b\n c\n", "suite.yaml:3: the indentation does not fit the lines above; or a text needs quotes"),
        ("a: !x!y z\n", "suite.yaml:1: a tag; suites have none, so put text that begins with ! in quotes"),
        ("a: 1\nb: \0\n", "suite.yaml:2: the character U+0000 is not allowed in YAML; in double quotes, write \\u0000"),
        ("a: 1\nb: \x1b[0m\n", "suite.yaml:2: the character U+001B is not allowed in YAML; in double quotes, write \\u001b"),
    ],
)  # fmt: skip
def test_what_is_no_yaml_is_said_in_plain_words(read: Read, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read(text)

    assert str(raised.value) == told


@pytest.mark.parametrize("case", ["{input: Capital of France?, output: Paris}", "[Capital of France?]"])
def test_without_libyaml_a_question_mark_within_brackets_needs_quotes_and_that_is_said(case: str) -> None:
    Path("suite.yaml").write_text(f"cases:\n- {case}\n")

    with TextFile(Path("suite.yaml")) as file, pytest.raises(ConfigError) as raised:
        list(YamlReader(file, loader=yaml.SafeLoader).suite(KEYS))

    assert str(raised.value) == (
        "suite.yaml:2: PyYAML has no libyaml here, and so does not accept ? within [ ] or { }; put the text in quotes"
    )


@pytest.mark.parametrize(
    ("content", "line", "told"),
    [
        (b"a: 1\nb: caf\xe9\n", 2, "0xe9 is not UTF-8 (it looks like Windows-1252)"),
        ("a: 1\n".encode("utf-16"), 1, "0xff is not UTF-8"),
        (b"a: 1\n" * 4_000 + b"b: \xff", 4_001, "0xff is not UTF-8"),
        (b"a: \xed\xa0\x80", 1, "0xed is not UTF-8"),
        (b"a: 1\n\nb: \xe2\x82", 3, "0xe2 is not UTF-8"),
    ],
    ids=["accent", "utf-16", "far", "surrogate", "cut"],
)
def test_what_is_not_utf_8_is_named(read: Read, content: bytes, line: int, told: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read(content)

    assert str(raised.value) == f"suite.yaml:{line}: the byte {told}; save the file as UTF-8"


def test_a_byte_order_mark_is_fine(read: Read) -> None:
    (piece,) = read("\ufeffa: é\n")

    assert (piece.key, piece.value) == ("a", "é")


@pytest.mark.parametrize("text", ["a: " + "[" * 60 + "]" * 60, "a: " + "{b: " * 60 + "}" * 60])
def test_deep_nesting_is_refused(read: Read, text: str) -> None:
    with pytest.raises(ConfigError, match=r"^suite\.yaml:1: this is nested more than 50 levels deep$"):
        read(text)


def test_deep_lists_on_one_line_are_refused_as_well(read: Read) -> None:
    with pytest.raises(ConfigError, match="nested more than 50 levels deep"):
        read("a:\n" + "- " * 400)


@pytest.mark.parametrize("values", ["[" + "1," * 1500 + "]", "{" + ",".join(f"k{n}: 1" for n in range(1500)) + "}"])
def test_too_many_values_are_refused(read: Read, monkeypatch: pytest.MonkeyPatch, values: str) -> None:
    monkeypatch.setattr(yaml_reader, "MAX_VALUES", 1000)

    with pytest.raises(ConfigError, match=r"^suite\.yaml:2: this has more than 100,000 values; split it$"):
        read(f"name: x\na: {values}")


@pytest.mark.parametrize("values", ["[" + "1," * 1500 + "}", "{" + ",".join(f"k{n}: 1" for n in range(1500)) + "]"])
def test_too_many_values_are_not_read_to_their_end(read: Read, monkeypatch: pytest.MonkeyPatch, values: str) -> None:
    monkeypatch.setattr(yaml_reader, "MAX_VALUES", 1000)

    with pytest.raises(ConfigError, match="more than 100,000 values"):  # and not: the bracket does not match
        read(f"a: {values}")


@pytest.mark.parametrize(
    ("head", "line"), [("name: x\ndescription: ", 1), ("cases:\n- {id: a}\n- {id: b}\n- id: c\n  input: ", 4)]
)
def test_what_is_too_large_is_not_read_to_its_end(head: str, line: int) -> None:
    Path("suite.yaml").write_text(head + "x" * (MAX_BYTES + 100_000), encoding="utf-8")

    with TextFile(Path("suite.yaml")) as file, pytest.raises(ConfigError) as raised:
        list(YamlReader(file).suite(KEYS))

    assert str(raised.value) == f"suite.yaml:{line}: what begins here has more than 10 MB; split it"


def test_mistakes_in_one_case_leave_the_others_alone(read: Read) -> None:
    pieces = read("cases:\n- {id: a, b: no}\n- {id: b}\n- {id: c, d: *x}\n")

    assert [len(piece.faults) for piece in pieces] == [0, 1, 0, 1]
    assert all(isinstance(piece.value, Mapped) for piece in pieces[1:])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cases:\n- id: a\n", False),
        ("cases:\n  - id: a\n    b: c\n", False),
        ("cases:\n- id: a\n# the end\n\n", False),
        ("cases:\n- id: a\nname: x\n", True),
        ("cases:\n  - id: a\nname: x\n", True),
        ("cases:\n- id: a\r\nname: x\r\n", True),
        ("cases:\n- id: a\u2028name: x\n", True),
        ("cases:\n- id: a\n? name\n: x\n", True),
        ("cases:\n- id: a\n-name: x\n", True),
        ("cases:\n- id: a\n'name': x\n", True),
        ("cases:\n- id: a\n---\n", True),
        ("  cases:\n  - id: a\n  name: x\n", True),
        ("  cases:\n  - id: a\n    name: x\n", False),
        ("# é€😀\ncases:\n" + "- id: aé\n" * 20_000 + "name: x\n", True),
        ("# é€😀\ncases:\n" + "- id: aé\n" * 20_000, False),
    ],
)  # fmt: skip
def test_keys_that_follow_on_the_cases_are_not_missed(text: str, expected: bool) -> None:
    Path("suite.yaml").write_bytes(text.encode())
    with TextFile(Path("suite.yaml")) as file:
        reader = YamlReader(file)
        next(piece for piece in reader.suite(KEYS) if piece.value is INLINE)
    column: Any = reader.case_column

    with TextFile(Path("suite.yaml")) as file:
        assert may_have_keys_after(file, reader.case_index, column) is expected


@pytest.mark.parametrize("chunk_end", range(30))
def test_a_key_is_not_missed_where_one_chunk_ends(chunk_end: int) -> None:
    filling = "- " + "x" * ((1 << 16) - 30 + chunk_end)
    Path("suite.yaml").write_text(f"  cases:\n  {filling}\n  name: x\n", encoding="utf-8")

    with TextFile(Path("suite.yaml")) as file:
        assert may_have_keys_after(file, 7, 2)
