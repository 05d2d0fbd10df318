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


def as_dict(number: int) -> dict[str, str]:
    return {
        "id": f"case-{number}",
        "input": f"What is the capital of country number {number}?",
        "candidate_answer": f"It is the city number {number}.",
        "reference_answer": f"city number {number}",
        "expected_outcome": "Names the city",
    }


def in_yaml(number: int) -> str:
    return "".join(f"{'- ' if key == 'id' else '  '}{key}: {value}\n" for key, value in as_dict(number).items())


def write(file: TextIO, form: str, count: int) -> None:
    numbers: Iterator[int] = iter(range(count))
    if form == "yaml":
        file.write(f"{HEAD}cases:\n")
        file.writelines(map(in_yaml, numbers))
    elif form == "yaml, cases first":
        file.write("cases:\n")
        file.writelines(map(in_yaml, numbers))
        file.write(HEAD)
    elif form == "json":
        file.write('{"evaluators": [{"type": "contains"}], "cases": [\n')
        file.write(",\n".join(json.dumps(as_dict(number)) for number in numbers))
        file.write("]}")
    else:
        file.writelines(f"{json.dumps(as_dict(number))}\n" for number in numbers)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "count"), [("yaml", 10_000), ("yaml, cases first", 5_000), ("json", 5_000), ("jsonl", 5_000)]
)
def test_many_cases_take_less_than_two_megabytes(form: str, count: int) -> None:
    name = f"suite.{form.partition(',')[0]}"
    with Path(name).open("w", encoding="utf-8") as file:
        write(file, form, count)
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
    Path("suite.yaml").write_text(f"{HEAD}cases:\n{in_yaml(0)}" + in_yaml(1) * 2000 + "- {id: [", encoding="utf-8")

    first = next(read_suite("suite.yaml").cases())

    assert first.case.id == "case-0"
