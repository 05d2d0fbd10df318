"""JSON and JSONL are read strictly, in pieces of whatever size."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evenhand.domain.errors import ConfigError
from evenhand.suites import json_reader
from evenhand.suites.json_reader import JsonReader, read_lines
from evenhand.suites.text_file import TextFile
from evenhand.suites.values import INLINE, MAX_BYTES, Piece, plain

KEYS = frozenset({"cases"})


def read(text: str) -> list[Piece]:
    Path("suite.json").write_text(text, encoding="utf-8")
    with TextFile(Path("suite.json")) as file:
        return list(JsonReader(file).suite(KEYS))


def lines(text: str) -> list[Piece]:
    Path("cases.jsonl").write_text(text, encoding="utf-8")
    with TextFile(Path("cases.jsonl")) as file:
        return list(read_lines(file))


def faults(pieces: list[Piece]) -> list[tuple[int, str]]:
    return [(fault.line, fault.text) for piece in pieces for fault in piece.faults]


def test_keys_and_cases_come_one_by_one_with_their_lines() -> None:
    pieces = read(
        '{\n "name": "first",\n "cases": [\n  {"id": "a"},\n  {"id": "b",\n   "input": "x"}],\n "timeout": 5}\n'
    )

    assert [(piece.key, piece.line, plain(piece.value)) for piece in pieces if piece.value is not INLINE] == [
        ("name", 2, "first"),
        (None, 4, {"id": "a"}),
        (None, 5, {"id": "b", "input": "x"}),
        ("timeout", 7, 5),
    ]
    assert pieces[3].value.lines == {"id": 5, "input": 6}


def test_every_kind_of_value_is_what_the_standard_library_makes_of_it() -> None:
    text = (
        '{"a": [1, -2.5e3, 0, -0, 1E2, true, false, null, "x", "\\u00e9\\n\\"", {}, [], {"b": {"c": [[]]}}], "": " "}'
    )

    pieces = read(text)

    assert {piece.key: plain(piece.value) for piece in pieces} == json.loads(text)


@pytest.mark.parametrize("place", range(65_500, 65_560, 7))
def test_values_are_whole_wherever_a_chunk_ends(place: int) -> None:
    cases = [{"id": "x" * (place - 30)}, {"id": 'é"\\\n😀', "input": [1234567890, -1.5e-3, True, None]}, {"id": "last"}]

    pieces = read(json.dumps({"cases": cases, "timeout": 12345}))

    assert [plain(piece.value) for piece in pieces if piece.key is None] == cases
    assert pieces[-1].value == 12345


def test_a_large_value_is_read_as_a_whole() -> None:
    text = "x" * 3_000_000

    (piece,) = read(json.dumps({"a": {"b": text}}))

    assert piece.value == {"b": text}


def test_lone_surrogates_are_replaced() -> None:
    (piece,) = read('{"a": {"\\ud800b": "\\udfff \\ud83d\\ude00"}}')

    assert piece.value == {"?b": "? 😀"}


def test_a_key_that_stands_twice_is_refused() -> None:
    assert faults(read('{"a": {"b": 1,\n"b": 2},\n"a": 3}')) == [
        (2, "duplicate key 'b'; first in line 1"),
        (3, "duplicate key 'a'; first in line 1"),
    ]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("NaN", "NaN is not JSON; write null, or a finite number"),
        ("Infinity", "Infinity is not JSON; write null, or a finite number"),
        ("-Infinity", "-Infinity is not JSON; write null, or a finite number"),
        ("1e999", "1e999 is too large a number"),
        ("9223372036854775808", "9223372036854775808 is too large a whole number; put it in quotes"),
        ("9" * 5000, f"{'9' * 40} is too large a whole number; put it in quotes"),
    ],
)
def test_what_is_no_finite_number_is_refused(value: str, told: str) -> None:
    assert faults(read(f'{{"x": 1,\n"a": {value}}}')) == [(2, told)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "suite.json: the file is empty; a suite is an object with keys such as evaluators and cases"),
        ("[1]", "suite.json:1: a suite is an object with keys such as evaluators and cases, not a list"),
        ('{"a": 1}\n{"b": 2}', "suite.json:2:1: unexpected text after the end; write one suite per file"),
        ('{"a": 1,\n}', "suite.json:2:1: not JSON: trailing comma before }"),
        ('{"a": [1,]}', "suite.json:1:10: not JSON: trailing comma before ]"),
        ('{"a": 1\n "b": 2}', "suite.json:2:2: not JSON: expected a comma or }"),
        ('{"a": 01}', "suite.json:1:8: not JSON: expected a comma or }"),
        ('{"a" 1}', "suite.json:1:6: not JSON: expected a colon after the key 'a'"),
        ("{a: 1}", "suite.json:1:2: not JSON: expected a key in double quotes"),
        ("{'a': 1}", "suite.json:1:2: not JSON: expected a key in double quotes"),
        ("{\"a\": 'b'}", 'suite.json:1:7: not JSON: "\'" cannot begin a value'),
        ('{"a": b}', "suite.json:1:7: not JSON: b is not JSON; put text in double quotes"),
        ('{"a": +1}', "suite.json:1:7: not JSON: '+' cannot begin a value"),
        ('{"a": 1 // one\n}', "suite.json:1:9: not JSON: expected a comma or }"),
        ('{"a": "b\n"}', "suite.json:1:9: not JSON: a control character in a string, such as a line break; write \\n"),
        ('{"a": "\\x"}', "suite.json:1:8: not JSON: a backslash in a string begins an escape; double it"),
        ('{"a": "b', "suite.json:1:7: not JSON: a string is opened here and never closed"),
        ('{"a": [1, 2', "suite.json:1:12: not JSON: expected a comma or ]"),
        ('{"a":', "suite.json:1:6: not JSON: the text ends where a value should be"),
        ('{"a": ' + "[" * 60 + "]" * 60 + "}", "suite.json:1:56: this is nested more than 50 levels deep"),
    ],
)
def test_what_is_no_json_is_said_with_its_place(text: str, told: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read(text)

    assert str(raised.value) == told


def test_a_mistake_far_before_the_end_of_a_large_file_is_named_at_once() -> None:
    with pytest.raises(ConfigError, match=r"^suite\.json:2:8: not JSON: expected a comma or }"):
        read('{"a": 1,\n"b": 2 3,\n"c": "' + "x" * (MAX_BYTES + 100) + '"}')


def test_too_many_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_reader, "MAX_VALUES", 1000)

    with pytest.raises(ConfigError, match=r"^suite\.json:1:2008: this has more than 100,000 values"):
        read('{"a": [' + "1," * 1500 + "1]}")


def test_what_is_too_large_is_not_read_to_its_end() -> None:
    with pytest.raises(ConfigError, match=r"^suite\.json:3: what begins here has more than 10 MB; split it$"):
        read('{"cases": [\n{"id": "a"},\n{"id": "' + "x" * (MAX_BYTES + 100_000) + '"}]}')


def test_lines_are_cases_and_blank_ones_are_skipped() -> None:
    pieces = lines('\ufeff{"id": "a"}\n\n   \r\n{"id": "b",  "input": "x"} \r\n{"id": "c"}')

    assert [(piece.line, plain(piece.value)) for piece in pieces] == [
        (1, {"id": "a"}),
        (4, {"id": "b", "input": "x"}),
        (5, {"id": "c"}),
    ]
    assert pieces[1].value.lines == {"id": 4, "input": 4}


def test_a_broken_line_does_not_hide_the_next() -> None:
    pieces = lines('{"id": "a"}\n{"id": }\n{"id": "b"} x\n{"id": NaN, "id": 1}\nnull\n')

    assert faults(pieces) == [
        (2, "column 8: not JSON: '}' cannot begin a value"),
        (3, "column 13: not JSON: unexpected text after the value; write one case per line"),
        (4, "NaN is not JSON; write null, or a finite number"),
        (4, "duplicate key 'id'; first in line 4"),
    ]
    assert [piece.line for piece in pieces] == [1, 2, 3, 4, 5]


def test_separators_of_lines_within_a_string_are_part_of_it() -> None:
    (piece,) = lines('{"id": "a\u2028b\u0085c"}\n')

    assert piece.value == {"id": "a\u2028b\u0085c"}


def test_a_line_that_is_too_large_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^cases\.jsonl:2: what begins here has more than 10 MB; split it$"):
        lines('{"id": "a"}\n' + "x" * (MAX_BYTES + 600_000))


def test_lines_that_are_not_utf_8_are_named() -> None:
    Path("cases.jsonl").write_bytes(b'{"id": "a"}\n\n{"id": "caf\xe9"}\n')

    with (
        TextFile(Path("cases.jsonl")) as file,
        pytest.raises(ConfigError, match=r"^cases\.jsonl:3: the byte 0xe9 is not"),
    ):
        list(read_lines(file))
