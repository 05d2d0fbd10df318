"""Plain cases are read by a pattern, and are what libyaml would make of them; all others are left to it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from evenhand.suites import plain_yaml
from evenhand.suites.document import open_document
from evenhand.suites.plain_yaml import plain_cases
from evenhand.suites.text_file import TextFile
from evenhand.suites.values import Mapped, Piece
from evenhand.suites.yaml_reader import YamlReader

HEADER = "evaluators: [{type: contains}]\n# a note\ncases:\n"


def by_pattern(text: str, first_line: int) -> tuple[list[Piece], int | None]:
    pieces = []
    with TextFile(text.encode()) as file:
        reading = plain_cases(file, first_line)
        while True:
            try:
                pieces.append(next(reading))
            except StopIteration as stop:
                return pieces, stop.value


def by_parser(text: str) -> list[Piece]:
    with TextFile(text.encode()) as file:
        return [piece for piece in YamlReader(file).suite(frozenset({"cases"})) if piece.key is None]


def with_lines(pieces: list[Piece]) -> list[object]:
    return [
        (piece.line, piece.value, getattr(piece.value, "lines", None), getattr(piece.value, "line", None))
        for piece in pieces
    ]


PLAIN = [
    "  - id: a\n",
    "  - id: a\n  - id: b",
    "- id: a\n  input: Is it (really) so? Yes, it's; and/or not!\n- id: b-2\n  input: two  spaces\n",
    '  - id: "a"\n    input: "a \\"quoted\\" text\\n\\\\ with: all # of it - é 漢 😀"\n\n\n  - id: b\n\n',
    '      - name_1: "no"\n        tags: often\n        Nothing: notes\n        empty: ""\n',
]


@pytest.mark.parametrize("cases", PLAIN)
@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_plain_cases_are_what_the_parser_reads(cases: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_yaml, "_READ", size)

    pieces, rest = by_pattern(HEADER + cases, 4)

    assert rest is None
    assert with_lines(pieces) == with_lines(by_parser(HEADER + cases))


@pytest.mark.parametrize(
    "case",
    [
        "  - id: a\n    input: no\n",  # which is false to some
        "  - id: a\n    input: null\n",
        "  - id: a\n    no: text\n",
        "  - id: a\n    input: 5\n",
        "  - id: a\n    input: two\n      lines\n",
        "  - id: a\n    input: two\n\n      lines\n",
        '  - id: a\n    input: "two\n      lines"\n',
        '  - id: a\n    input: "\\u00e9"\n',
        '  - id: a\n    input: "a\tb"\n',
        "  - id: a\n    input: a # a note\n",
        "  - id: a\n    input: a: b\n",
        "  - id: a\n    input: |\n      text\n",
        "  - id: a\n    input: [one]\n",
        "  - id: a\n    input: &b text\n",
        "  - id: a\n    input:\n",
        "  - id: a\n    id: b\n",
        "  - id: a\n  # a note\n",
        "  - id: a\r\n    input: b\r\n",
        "  - id: a\n    input: b \n",
        '  - id: a\n    input: "\x85"\n',
        '  - id: a\n    input: "a" b\n',
        "  - - id: a\n",
        "  -\n    id: a\n",
        "  - a text\n",
        "  -  id: a\n     input: b\n",
        "gates: {min_mean: 0.5}\n",
    ],
)
def test_a_case_that_is_not_plain_is_left_to_the_parser_with_all_that_follow(case: str) -> None:
    text = f"{HEADER}  - id: first\n{case}"

    pieces, rest = by_pattern(text, 4)

    assert rest == len(pieces)
    assert rest in {0, 1}
    assert [piece.value for piece in pieces] == [{"id": "first"}][:rest]


def test_a_header_whose_lines_are_counted_otherwise_is_left_to_the_parser() -> None:
    assert by_pattern("a: b\u2028\ncases:\n- id: a\n- id: b\n", 4) == ([], 0)


def test_a_case_that_is_very_long_is_left_to_the_parser() -> None:
    text = f'- id: a\n- id: b\n  input: "{"x" * (1 << 19)}"\n- id: c\n'

    pieces, rest = by_pattern(text, 1)

    assert (len(pieces), rest) == (1, 1)


def test_any_mixture_of_cases_is_read_as_the_parser_reads_it(tmp_path: Path) -> None:
    draw = random.Random(5)
    odd = [
        '"\\u00e9"',
        "5",
        "[a, b]",
        "{a: b}",
        "'single'",
        "a # note",
        "|\n      block",
        "a\n      b",
        "~",
        "no way: x",
    ]
    even = ["word", '"quoted: text"', "a longer, plain text.", '"é"', "nothing", '"\\n"']
    for number in range(150):
        chosen = odd if draw.random() < 0.3 else even
        lines = [
            f"  - id: c{case}\n" + "".join(f"    k{key}: {draw.choice(even if key else chosen)}\n" for key in range(3))
            for case in range(4)
        ]
        path = tmp_path / f"{number}.yaml"
        path.write_text(HEADER + "".join(lines) + draw.choice(["", "\n", "gates: {min_mean: 1}\n"]), encoding="utf-8")
        try:
            expected = with_lines(by_parser(path.read_text(encoding="utf-8")))
        except Exception as error:
            with pytest.raises(type(error)):
                list(open_document(path).cases())
            continue

        assert with_lines(list(open_document(path).cases())) == expected, path.read_text(encoding="utf-8")


def test_a_list_in_a_list_is_no_case(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text("cases:\n  -\n    - id: a\n", encoding="utf-8")

    (piece,) = open_document(path).cases()

    assert not isinstance(piece.value, Mapped)
