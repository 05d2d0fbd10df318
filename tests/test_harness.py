"""What the tests take is on its page, and their order follows from it."""

from __future__ import annotations

import json

import pytest
from tests.harness import seconds, table
from tests.harness.folders import allowances, folder_of
from tests.harness.scheduling import RECORDED
from tests.harness.steady import uses_more


def test_the_table_on_the_page_is_the_one_of_the_last_record() -> None:
    page = table.PAGE.read_text("utf-8")

    assert table.with_table(page, json.loads(RECORDED.read_text("utf-8"))) == page


def test_every_folder_has_an_allowance_and_every_allowance_a_folder() -> None:
    tests = RECORDED.parents[1]
    folders = {"tests", *(path.parent.relative_to(tests).parts[0] for path in tests.glob("*/**/test_*.py"))}

    assert set(allowances()["starts"]) == folders
    assert set(allowances()["seconds"]["test"]) == folders
    assert set(allowances()["seconds"]["long"]) <= folders


@pytest.mark.parametrize(
    ("nodeid", "folder"),
    [
        ("tests/store/test_runs.py::test_it[tests/a]", "store"),
        ("tests/store/deep/test_runs.py::test_it", "store"),
        ("tests/test_api.py::test_it", "tests"),
        ("test_elsewhere.py::test_it", "tests"),
    ],
)
def test_a_test_counts_for_the_folder_below_tests(nodeid: str, folder: str) -> None:
    assert folder_of(nodeid) == folder


def test_what_failed_is_run_again_by_test_or_where_many_did_by_file() -> None:
    one = seconds.again(["tests/a.py::test_x[a b]", "tests/a.py::test_x[a b]", "tests/b.py::test_y"])
    many = seconds.again([f"tests/a.py::test_x[{number}]" for number in range(11)])

    assert one.endswith(" -m pytest 'tests/a.py::test_x[a b]' tests/b.py::test_y")
    assert many.endswith(" -m pytest tests/a.py")


def test_what_is_outside_of_the_process_is_run_more_often() -> None:
    tests = RECORDED.parents[1]

    assert uses_more(tests / "browser")
    assert not uses_more(tests / "domain")
