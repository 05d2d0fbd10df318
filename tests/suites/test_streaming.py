"""Cases are read one by one: a large suite takes no more memory than a small one."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest

from evenhand.suites.suite import read_suite

HEAD = "name: large\nevaluators:\n- {type: contains}\n"


def as_dict(number: int, words: int) -> dict[str, str]:
    return {
        "id": f"case-{number}",
        "input": f"What is the capital of country number {number}?",
        "candidate_answer": f"It is the city number {number}.",
        "reference_answer": f"city number {number}",
        "expected_outcome": "Names the city" + " and no other" * words,
    }


def in_yaml(case: dict[str, str]) -> str:
    return "".join(f"{'- ' if key == 'id' else '  '}{key}: {value}\n" for key, value in case.items())


def write(file: TextIO, form: str, count: int, words: int) -> None:
    cases: Iterator[dict[str, str]] = (as_dict(number, words) for number in range(count))
    if form == "yaml":
        file.write(f"{HEAD}cases:\n")
        file.writelines(map(in_yaml, cases))
    elif form == "yaml, cases first":
        file.write("cases:\n")
        file.writelines(map(in_yaml, cases))
        file.write(HEAD)
    elif form == "json":
        file.write('{"evaluators": [{"type": "contains"}], "cases": [\n')
        file.write(",\n".join(json.dumps(case) for case in cases))
        file.write("]}")
    else:
        file.writelines(f"{json.dumps(case)}\n" for case in cases)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "count", "words"),
    [
        ("yaml", 1_000, 240),
        ("yaml, cases first", 1_000, 240),
        ("json", 1_000, 240),
        ("jsonl", 5_000, 0),
        pytest.param("yaml", 10_000, 0, marks=pytest.mark.long),
    ],
)
def test_many_cases_take_less_than_two_megabytes(form: str, count: int, words: int) -> None:
    """A thousand cases with long texts are more than three megabytes."""
    name = f"suite.{form.partition(',')[0]}"
    with Path(name).open("w", encoding="utf-8") as file:
        write(file, form, count, words)
    Path("warm.yaml").write_text(f"{HEAD}cases: [{{id: a}}]", encoding="utf-8")
    if form == "jsonl":
        Path("suite.yaml").write_text(HEAD, encoding="utf-8")
    list(read_suite("warm.yaml").cases())  # so that what is imported does not count

    tracemalloc.start()
    suite = read_suite(name)
    found = sum(1 for _ in suite.cases())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert found == count
    assert peak < 2_000_000


def test_the_first_case_is_there_before_the_last_is_read() -> None:
    Path("suite.yaml").write_text(
        f"{HEAD}cases:\n{in_yaml(as_dict(0, 0))}" + in_yaml(as_dict(1, 0)) * 2000 + "- {id: [", encoding="utf-8"
    )

    first = next(read_suite("suite.yaml").cases())

    assert first.case.id == "case-0"
