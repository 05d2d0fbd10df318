"""A suite is found in its files, whatever their form and the order of their keys."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.suites.suite import Suite, read_suite

Read: TypeAlias = Callable[..., Suite]

EVALUATORS = "evaluators: [{type: contains}]\n"


def ids(suite: Suite) -> list[str | None]:
    return [planned.case.id for planned in suite.cases()]


@pytest.mark.parametrize(
    "text",
    [
        "name: x\nevaluators: [{type: contains}]\ncases:\n- {id: a}\n- {id: b}\n",
        "cases:\n- {id: a}\n- {id: b}\nname: x\nevaluators: [{type: contains}]\n",
        "name: x\ncases:\n  - {id: a}\n  - {id: b}\nevaluators: [{type: contains}]\n",
        "{name: x, cases: [{id: a}, {id: b}], evaluators: [{type: contains}]}",
        "  name: x\n  cases:\n  - {id: a}\n  - {id: b}\n  evaluators: [{type: contains}]\n",
        "name: x\nevaluators: [{type: contains}]\ncases: [\n{id: a},\n{id: b}\n]\n",
        'name: x\nevaluators: [{type: contains}]\ncases:\n- {id: a, input: "two\nlines"}\n- {id: b}\n',
        "name: x\nevaluators: [{type: contains}]\nevalcases:\n- {id: a}\n- {id: b}\n",
        "name: x\nevaluators: [{type: contains}]\ntests:\n- {id: a}\n- {id: b}\n",
    ],
)
def test_keys_may_stand_in_any_order(suite: Read, text: str) -> None:
    read = suite(text)

    assert read.name == "x"
    assert read.definition == {"name": "x", "evaluators": [{"type": "contains"}]}
    assert ids(read) == ["a", "b"]


CASES = [
    {"id": "a", "input": "é\n", "metadata": {"deep": [1, 2.5, {"x": None}]}, "latency": 1},
    {
        "id": "b",
        "input": [{"role": "user", "content": "hi"}],
        "rubrics": ["Is kind"],
        "evaluation_schema": {"type": "object"},
    },
]


@pytest.mark.parametrize("name", ["cases.jsonl", "cases.json", "cases.yaml", "data/cases.ndjson", "CASES.JSONL"])
def test_cases_in_a_file_of_their_own_are_the_same(suite: Read, name: str) -> None:
    whole = suite(json.dumps({"evaluators": [{"type": "llm_judge"}], "cases": CASES}), "whole.json")
    in_lines = name.lower().endswith(("jsonl", "ndjson"))
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text("\n".join(map(json.dumps, CASES)) if in_lines else json.dumps(CASES), encoding="utf-8")

    apart = suite(f"evaluators: [{{type: llm_judge}}]\ncases: {name}\n")

    assert [one.case for one in apart.cases()] == [one.case for one in whole.cases()]
    assert apart.definition == whole.definition


def test_a_json_suite_is_a_suite(suite: Read) -> None:
    text = json.dumps(
        {"$schema": "x", "cases": [{"id": "a"}], "name": "j", "evaluators": [{"type": "contains"}]}, indent=1
    )

    read = suite(text, "suite.json")

    assert read.definition == {"name": "j", "evaluators": [{"type": "contains"}]}
    assert ids(read) == ["a"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cases.yaml", EVALUATORS),
        ("cases.yml", EVALUATORS),
        ("cases.yaml", f"{EVALUATORS}cases: cases.jsonl\n"),
        ("suite.yaml", f"{EVALUATORS}cases: ./cases.jsonl\n"),
    ],
)
def test_lines_find_the_suite_beside_them(name: str, text: str) -> None:
    Path("cases.jsonl").write_text('{"id": "a"}\n', encoding="utf-8")
    Path(name).write_text(text, encoding="utf-8")

    read = read_suite("cases.jsonl")

    assert ids(read) == ["a"]
    assert read.source == str(Path(name).absolute())


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("other.yaml", EVALUATORS, "cases.jsonl has cases and nothing to judge them by; write cases.yaml with evaluators next to it"),
        ("suite.yaml", f"{EVALUATORS}cases: [{{id: a}}]", "cases.jsonl has cases and nothing to judge them by; write cases.yaml with evaluators next to it"),
        ("cases.yaml", f"{EVALUATORS}cases: [{{id: a}}]", "cases.yaml has its own cases; run cases.yaml, or set its cases to cases.jsonl"),
    ],
)  # fmt: skip
def test_lines_without_a_suite_are_refused(name: str, text: str, told: str) -> None:
    Path("cases.jsonl").write_text('{"id": "a"}\n', encoding="utf-8")
    Path(name).write_text(text, encoding="utf-8")

    with pytest.raises(ConfigError) as raised:
        read_suite("cases.jsonl")

    assert str(raised.value) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{EVALUATORS}cases: none.jsonl", "suite.yaml:2: cases: none.jsonl: there is no such file"),
        (f"{EVALUATORS}cases: folder.json", "suite.yaml:2: cases: folder.json is a folder; name a file in it, such as folder.json/suite.yaml"),
        (f"{EVALUATORS}cases: cases.txt", "suite.yaml:2: cases: 'cases.txt' must be a .jsonl, .json, .yaml, .csv, .tsv, .parquet or .arrow file"),
        (f"{EVALUATORS}cases: cases.xlsx", "suite.yaml:2: cases: 'cases.xlsx' must be a .jsonl, .json, .yaml, .csv, .tsv, .parquet or .arrow file; it is an Excel workbook; export it as CSV (UTF-8)"),
        (f"{EVALUATORS}cases: cases.csv.gz", "suite.yaml:2: cases: 'cases.csv.gz' must be a .jsonl, .json, .yaml, .csv, .tsv, .parquet or .arrow file; it is packed; unpack it"),
        (f"{EVALUATORS}cases: none-*.csv", "suite.yaml:2: cases: no file matches 'none-*.csv'"),
        (f"{EVALUATORS}cases: [one.jsonl, {{id: a}}]", "suite.yaml:2: cases must be the path of a file, as the first one is, not a mapping"),
        (f"{EVALUATORS}cases: [one.jsonl, none.csv]", "suite.yaml:2: cases: none.csv: there is no such file"),
        (f"{EVALUATORS}columns: {{input: q}}\ncases: [{{id: a}}]", "suite.yaml:2: columns is for files of cases; here, write the keys of a case"),
        (f"{EVALUATORS}cases: {{a: b}}", "suite.yaml:2: cases must be a list, or the path of a file with cases, not a mapping"),
        (f"{EVALUATORS}cases: 3", "suite.yaml:2: cases must be a list, or the path of a file with cases, not a number"),
        (f"{EVALUATORS}cases:", "suite.yaml:2: cases must be a list, or the path of a file with cases, not nothing"),
        (EVALUATORS, "suite.yaml:1: there are no cases; list them under cases, or name a file there, such as cases.jsonl"),
        (f"{EVALUATORS}cases: []", "suite.yaml: there are no cases; list some"),
        (f"{EVALUATORS}cases: empty.jsonl", "empty.jsonl: there are no cases; list some"),
        (f"{EVALUATORS}cases: suite.yaml", "suite.yaml:1: a file of cases is a list; each case begins with '- ', not a mapping"),
        (f"{EVALUATORS}cases: [{{id: a}}]\ntests: [{{id: b}}]", "suite.yaml:3: cases and tests are two names for the same thing; give one"),
    ],
)  # fmt: skip
def test_cases_that_are_not_there_are_missed(mistakes: Callable[[str], list[str]], text: str, told: str) -> None:
    Path("folder.json").mkdir()
    Path("empty.jsonl").write_text("\n\n", encoding="utf-8")
    Path("one.jsonl").write_text('{"id": "a"}\n', encoding="utf-8")

    assert mistakes(text) == [told]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("none.yaml", "none.yaml: there is no such file"),
        ("folder", "folder is a folder; name a file in it, such as folder/suite.yaml"),
        (
            "suite.toml",
            "suite.toml: a suite is a .yaml, .yml or .json file, or a .jsonl or .csv file with a .yaml file next to it",
        ),
    ],
)
def test_what_is_no_suite_file_is_refused(name: str, told: str) -> None:
    Path("folder").mkdir()
    Path("suite.toml").touch()

    with pytest.raises(ConfigError) as raised:
        read_suite(name)

    assert str(raised.value) == told


def test_a_name_that_no_file_can_have_is_a_mistake_like_others(mistakes: Callable[[str], list[str]]) -> None:
    (found,) = mistakes(f"{EVALUATORS}cases: {'x' * 5000}.jsonl")

    assert found.startswith("suite.yaml:2: cases: xxx")
    assert "it cannot be read" in found or "there is no such file" in found


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with a name are a thing of POSIX")
def test_a_pipe_is_not_waited_for() -> None:
    os.mkfifo("suite.yaml")

    with pytest.raises(ConfigError, match="not a regular file"):
        read_suite("suite.yaml")


def test_a_mistake_in_a_file_of_cases_names_that_file(mistakes: Callable[[str], list[str]]) -> None:
    Path("data").mkdir()
    Path("data/cases.jsonl").write_text('{"id": "a"}\n\n{"id": "b", "ouput": "x"}\n{"id": 1\n', encoding="utf-8")

    found = mistakes(f"{EVALUATORS}cases: data/cases.jsonl")

    assert found == [
        f"{Path('data/cases.jsonl')}:3, case \"b\": no key 'ouput'; did you mean 'output'?",
        f"{Path('data/cases.jsonl')}:4, case 3: column 9: not JSON: expected a comma or }}",
    ]


def test_the_cases_can_be_read_again(suite: Read) -> None:
    read = suite(f"{EVALUATORS}cases:\n- {{id: a}}\n- {{input: x}}\n")

    first, second = list(read.cases()), list(read.cases())

    assert first == second
    assert [one.position for one in first] == [0, 1]
    assert [one.line for one in first] == [3, 4]
    assert first[0].case == Case(id="a")


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("data/*.csv", ["a", "b"]),
        ("'data/[ab].csv'", ["a", "b"]),
        ("'**/*.csv'", ["a", "b"]),
        ("data/*", ["a", "b", "c"]),
        ("[data/c.jsonl, data/*.csv]", ["c", "a", "b"]),
        ("[data/c.jsonl]", ["c"]),
        ("\n- data/b.csv\n- data/*.csv", ["b", "a"]),
        ("'data [1].csv'", ["d"]),
    ],
)
def test_cases_may_be_in_several_files(suite: Read, written: str, found: list[str]) -> None:
    Path("data").mkdir()
    for name in "ab":
        Path(f"data/{name}.csv").write_text(f"id,input\n{name},x\n", encoding="utf-8")
    Path("data/c.jsonl").write_text('{"id": "c"}\n', encoding="utf-8")
    Path("data [1].csv").write_text("id\nd\n", encoding="utf-8")

    if "**" in written:
        Path("data [1].csv").unlink()
    read = suite(f"{EVALUATORS}cases: {written}\nname: several\n")

    assert ids(read) == found
    assert read.name == "several"
    assert ids(read) == found


def test_files_may_be_listed_in_a_json_suite_and_outside_of_its_folder(suite: Read) -> None:
    Path("inner").mkdir()
    Path("b.csv").write_text("id\nb\n", encoding="utf-8")
    whole = str(Path("b.csv").absolute().parent / "*.csv")

    above = suite(json.dumps({"cases": ["../*.csv"], "evaluators": [{"type": "contains"}]}), "inner/suite.json")
    from_root = suite(json.dumps({"evaluators": [{"type": "contains"}], "cases": whole}), "inner/suite.json")

    assert ids(above) == ids(from_root) == ["b"]


def test_ids_must_differ_over_all_files_and_both_places_are_named(mistakes: Callable[[str], list[str]]) -> None:
    Path("a.csv").write_text("id,input\nx,1\ny,2\n", encoding="utf-8")
    Path("b.jsonl").write_text('{"id": "z"}\n{"id": "y"}\n', encoding="utf-8")

    found = mistakes(f"{EVALUATORS}cases: [a.csv, b.jsonl]")

    assert found == ['b.jsonl:2, case "y": duplicate id, first in a.csv:3; ids must differ']


def test_a_mistake_names_the_file_that_the_case_is_in(mistakes: Callable[[str], list[str]]) -> None:
    Path("a.csv").write_text("id,latency\nx,fast\n", encoding="utf-8")
    Path("b.jsonl").write_text('{"id": "z", "ouput": "x"}\n', encoding="utf-8")

    found = mistakes(f"{EVALUATORS}cases: [a.csv, b.jsonl]")

    assert found == [
        "a.csv:2, case \"x\": latency must be a number, 0 or more, not 'fast'",
        "b.jsonl:1, case \"z\": no key 'ouput'; did you mean 'output'?",
    ]


def test_a_table_finds_the_suite_beside_it() -> None:
    Path("cases.csv").write_text("id\na\n", encoding="utf-8")
    Path("cases.yaml").write_text(EVALUATORS, encoding="utf-8")

    assert ids(read_suite("cases.csv")) == ["a"]


def test_a_first_case_that_cannot_be_read_hides_no_mistake_beside_the_cases(
    mistakes: Callable[[str], list[str]],
) -> None:
    found = mistakes("zzz: 1\ncases:\n- {id: a, input: [}\n")

    assert [message.partition(":")[2][:2] for message in found] == ["1:", "3:"]
