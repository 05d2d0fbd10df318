"""Where objects begin and end, in texts that nest them deeper than is read."""

import pytest

from evenhand.evaluators.scanner import MAX_DEPTH, Scanner

DEEP = '{"a":' * 150 + "1" + "}" * 150


def test_of_what_is_nested_too_deep_all_is_found_that_is_an_object_by_itself() -> None:
    ((begin, end),) = Scanner(DEEP).spans()

    assert Scanner(DEEP).end_of(0) is None
    assert DEEP[begin:end] == '{"a":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH


@pytest.mark.parametrize("text", [DEEP, '{"a":' * 5000, DEEP * 20, '{"a":[' * 500 + "{}," * 500, '{"a":"{' * 900])
def test_however_deep_the_work_is_in_proportion(text: str) -> None:
    for times in (1, 2, 4):
        scanner = Scanner(text * times)
        list(scanner.spans())

        assert scanner.work <= 2 * len(text) * times + text.count("{") * times
