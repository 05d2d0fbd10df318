"""Counting a run from its rows gives what counting its results gives, and notices the same damage."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from evenhand.domain.case import Case
from evenhand.domain.errors import StoreError
from evenhand.domain.evaluation import Attempt, Evaluation, Usage
from evenhand.domain.run import Judgment, MadeAnswer, PlannedCase, RunRecord, RunStatus
from evenhand.domain.verdict import Thresholds
from evenhand.engine import stored_survey as module
from evenhand.engine.stored_survey import stored_survey
from evenhand.reports.overview import Overview, Survey, survey
from evenhand.store.rows import Batch, answer_row, case_content, dumps, evaluation_row
from evenhand.store.store import Store, open_store

SLICES = ("language",)
LONG = "You are a judge of answers. " * 20

CASES = st.fixed_dictionaries(
    {},
    optional={
        "cluster": st.sampled_from(["one", "two"]),
        "question": st.sampled_from(["why?", 'the "model" of it?']),
        "metadata": st.fixed_dictionaries(
            {},
            optional={
                "language": st.sampled_from(["de", "en", "", None, 3]),
                "model": st.sampled_from(["a/b", "c/d"]),
                "profiles": st.just([{"id": "p", "number": 1}]),
            },
        ),
    },
)
ATTEMPTS = st.fixed_dictionaries(
    {"kind": st.sampled_from(["reply"] * 4 + ["transport"])},
    optional={
        "usage": st.builds(Usage, input_tokens=st.integers(0, 9), output_tokens=st.integers(0, 9)),
        "cached": st.booleans(),
        "error": st.sampled_from(["unparsable: no", "timeout: slow"]),
        "saved": st.sampled_from([0.1, 0.25]),
        "raw": st.just("{}"),
    },
)
DETAILS = st.sampled_from(
    [{}, {}, {"judge": "a/b"}, {"judge": "c/d"}, {"judge": ["a"]}, {"meta_judge": {"details": {"judge": "e/f"}}}]
)
JUDGED = st.fixed_dictionaries(
    {
        "score": st.sampled_from([0.0, 0.2, 0.5, 1.0, "timeout: slow", None]),
        "type": st.sampled_from(["llm_judge", "llm_judge", "function", "program"]),
        "attempts": st.lists(ATTEMPTS, min_size=0, max_size=2),
        "details": DETAILS,
        "flags": st.sampled_from([(), (), ("cached",), ("ambiguous",)]),
        "retry_count": st.sampled_from([0, 0, 1]),
        "request": st.sampled_from([None, {"systemPrompt": LONG, "userPrompt": "x"}]),
        "rounds": st.sampled_from([1, 1, 1, 2]),
        "answers": st.sampled_from([0, 0, 0, 1]),
        "weight": st.sampled_from([1.0, 0.5]),
        "required": st.booleans(),
        "cost": st.sampled_from([None, 0.0, 0.1]),
        "evaluator": st.sampled_from(["quality", "kind\0ness"]),
    }
)
ROWS = st.lists(st.tuples(CASES, st.one_of(JUDGED, JUDGED, st.none())), max_size=12)


def filled(store: Store, rows: list[tuple[Mapping[str, Any], Mapping[str, Any] | None]]) -> RunRecord:
    """Store a run of some cases, each with one evaluation or none."""
    run = store.runs.create(name="any", source=None, definition={"slices": list(SLICES)}, options={})
    for position, (fields, judged) in enumerate(rows):
        case = Case(id=f"case-{position}", **fields)
        planned = PlannedCase(position=position, case=case, hash="h", expected=1)
        store.add_cases([(run.number, position, case.id, "h", 1, dumps(case_content(planned)))])
        if judged is not None:
            evaluations = [
                evaluation_row(run.number, position, 0, judgment(judged, number)) for number in range(judged["rounds"])
            ]
            answers = [answer_row(run.number, position, MadeAnswer(text="Yes.", cost=0.1))] * judged["answers"]
            store.commit(Batch(evaluations=evaluations, answers=answers))
    return store.runs.mark(run, RunStatus.FINISHED, cases=len(rows))


def judgment(judged: Mapping[str, Any], number: int) -> Judgment:
    known = {name: judged[name] for name in ("evaluator", "type", "details", "flags", "retry_count")}
    known |= {"attempts": tuple(Attempt(**attempt) for attempt in judged["attempts"])}
    known |= {"evaluator_provider_request": judged["request"]}
    score = judged["score"]
    if isinstance(score, str):
        evaluation = Evaluation.with_error(error=score, **known)
    elif score is None:
        evaluation = Evaluation.without_score(reasoning="nothing to judge", **known)
    else:
        evaluation = Evaluation.with_score(score=score, verdict=Thresholds().verdict(score), **known)
    return Judgment(
        evaluation=evaluation, round=number, weight=judged["weight"], required=judged["required"], cost=judged["cost"], key="k"
    )  # fmt: skip


def written(overview: Overview) -> str:
    return dumps(overview.as_dict())


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(ROWS)
def test_rows_are_counted_as_results_are(rows: list[tuple[Mapping[str, Any], Mapping[str, Any] | None]]) -> None:
    with contextlib.closing(open_store("sqlite://")) as store:
        run = filled(store, [*rows, *rows])

        assert written(stored_survey(store, run)) == written(survey(store.results(run), SLICES))


def test_a_judge_that_is_no_text_is_counted_as_none() -> None:
    with contextlib.closing(open_store("sqlite://")) as store:
        run = filled(store, [({}, PLAIN | {"details": {"judge": ["a"]}})] * 3)

        assert written(stored_survey(store, run)) == written(survey(store.results(run), SLICES))


PLAIN: dict[str, Any] = {
    "score": 0.5, "type": "llm_judge", "attempts": [{"kind": "reply", "raw": "{}"}], "details": {"judge": "a/b"},
    "flags": (), "retry_count": 0, "request": {"systemPrompt": LONG, "userPrompt": "x"}, "rounds": 1, "answers": 0,
    "weight": 1.0, "required": False, "cost": 0.1, "evaluator": "quality",
}  # fmt: skip


def test_of_cases_that_are_alike_one_is_made_an_object(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    class Counted(Survey):
        def add(self, result: Any, **known: Any) -> None:
            made.append(result.position)
            super().add(result, **known)

    monkeypatch.setattr(module, "Survey", Counted)
    with contextlib.closing(open_store("sqlite://")) as store:
        run = filled(store, [({}, PLAIN)] * 5 + [({"cluster": "one"}, PLAIN)])

        overview = stored_survey(store, run)

    assert made == [0, 5]
    assert overview.summary.cases.scored == overview.summary.calls == 6
    assert overview.judges == {"quality": ("a/b",)}


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE evaluations SET score = 0.9 WHERE position = 3",
        "UPDATE evaluations SET content = REPLACE(content, 'llm', 'lmm') WHERE position = 3",
        "UPDATE evaluations SET checksum = NULL WHERE position = 3",
        "UPDATE cases SET content = REPLACE(content, 'case-3', 'case-4') WHERE position = 3",
        "DELETE FROM evaluations WHERE position = 3",
        "DELETE FROM cases WHERE position = 3",
        "DELETE FROM cases WHERE position = 4",
        "DELETE FROM shared_texts",
        "UPDATE shared_texts SET content = REPLACE(content, 'judge', 'gudge')",
        "INSERT INTO answers (run, position, sample, round, content, checksum) VALUES (1, 0, 0, 0, '{}', NULL)",
    ],
)
def test_damage_is_noticed(damage: str) -> None:
    with contextlib.closing(open_store("sqlite://")) as store:
        run = filled(store, [({}, PLAIN)] * 5)
        assert store.database.execute(damage) > 0

        with pytest.raises(StoreError, match="damaged"):
            stored_survey(store, run)
