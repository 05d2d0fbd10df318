"""Numbers by model, where cases are answered by several (SPEC-M4)."""

from __future__ import annotations

from typing import Any

from evenhand.domain.run import CaseResult
from evenhand.reports.json import summary_row
from evenhand.reports.summary import summarize


def results(made: Any, *scores: tuple[Any, float | str | None]) -> list[CaseResult]:
    """Make a case for each model and what was found of it."""
    return [
        made.case(found, position=place, id=str(place), metadata={"model": model})
        for place, (model, found) in enumerate(scores)
    ]


def test_each_of_several_models_has_its_own_numbers(made: Any) -> None:
    found = results(made, ("a", 1.0), ("b", 0.0), ("a", 0.5), ("b", "unparsable: no JSON"))

    summary = summarize(found)

    assert {name: (one.n, one.mean, one.errors) for name, one in summary.models.items()} == {
        "a": (2, 0.75, 0),
        "b": (2, 0.0, 1),
    }
    assert summary_row(summary)["models"]["a"]["mean"] == 0.75


def test_one_model_is_told_by_the_numbers_of_all_cases(made: Any) -> None:
    summary = summarize(results(made, ("a", 1.0), ("a", 0.0), (7, 0.5), (None, 0.5)))

    assert summary.models == {}
    assert "models" not in summary_row(summary)


def test_a_key_that_means_something_else_in_each_case_makes_no_table(made: Any) -> None:
    summary = summarize(results(made, *((f"model {number}", 1.0) for number in range(51))))

    assert summary.models == {}
    assert summary.cases.n == 51
