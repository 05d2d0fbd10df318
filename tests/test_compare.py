"""Comparing runs from Python: what `compare` takes, refuses and gives."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from evenhand import (
    Case,
    Comparison,
    ConfigError,
    Contains,
    PromptEvaluator,
    Run,
    RunStoppedError,
    Scripted,
    compare,
    evaluate,
)
from evenhand.domain.comparison import RunsComparison
from evenhand.domain.reply import Reply
from evenhand.reports.comparison import comparison_text

PARIS = Contains(value="Paris")


class Saying:
    """A judge of some name that always gives the same score, and is defined by no more than being one."""

    identity = "a judge"

    def __init__(self, name: str, score: float) -> None:
        self.name = name
        self._score = score

    async def ask(self, ask: Any, *, deadline: float | None = None) -> Reply:
        return Reply.said(f'{{"score": {self._score}}}')


def answered(*answers: str | None, ids: Iterable[object] | None = None, **rest: Any) -> Run:
    names = range(len(answers)) if ids is None else ids
    cases = [Case(id=f"case-{name}", candidate_answer=one) for name, one in zip(names, answers, strict=True)]
    return evaluate(cases, rest.pop("evaluators", PARIS), store=rest.pop("store", None), **rest)


def test_the_better_run_is_found() -> None:
    found = compare(answered(*["Rome"] * 8), answered(*["Paris"] * 7, "Rome"))

    scores = found.cases.scores
    assert isinstance(found, Comparison)
    assert (scores.n, scores.difference, scores.wins, scores.ties) == (8, 0.875, 7, 1)
    assert scores.better
    assert [one.case_id for one in found.changes] == [f"case-{number}" for number in range(7)]


def test_runs_are_taken_by_their_ids_from_a_store(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    first, _ = (answered(*[answer] * 6, store=store) for answer in ("Paris", "Rome"))

    found = compare(first.id, "last", store=store)

    assert found.a.id == first.id
    assert found.cases.scores.worse


def test_cases_meet_by_their_ids_and_not_by_their_places() -> None:
    a = answered(*["Paris"] * 4, *["Rome"] * 4, ids=range(8))
    b = answered(*["Rome"] * 4, *["Paris"] * 4, "Paris", ids=[*range(7, -1, -1), 9])

    found = compare(a, b)

    assert (found.cases.in_common, found.cases.only_a, found.cases.only_b) == (8, 0, 1)
    assert (found.cases.scores.ties, found.changed) == (8, 0)


def test_a_case_without_an_answer_is_counted_and_left_out() -> None:
    found = compare(answered(*["Paris"] * 7), answered(*["Paris"] * 6, None))

    assert (found.cases.scores.n, found.cases.unscored_b) == (6, 1)
    assert found.cases.transitions[0][4] == 1


def test_a_run_is_not_compared_with_itself() -> None:
    run = answered("Paris")

    with pytest.raises(ConfigError, match=f"run {run.id} cannot be compared with itself"):
        compare(run, run, anyway=True)


def test_runs_without_a_case_in_common_are_refused() -> None:
    with pytest.raises(ConfigError, match="no case in common: no id is in both"):
        compare(answered("Paris", ids=["a"]), answered("Paris", ids=["b"]), anyway=True)


def test_an_unfinished_run_is_refused_unless_wanted_anyway() -> None:
    with pytest.raises(RunStoppedError) as stopped:
        evaluate(
            [Case(id=f"case-{number}", candidate_answer=f"{number}", expected_outcome="One") for number in range(8)],
            PromptEvaluator(judge=Saying("judge", 0.5)),
            store=None,
            max_calls=6,
            concurrency=1,
        )
    whole = evaluate(
        [Case(id=f"case-{number}", candidate_answer=f"{number}", expected_outcome="One") for number in range(8)],
        PromptEvaluator(judge=Saying("judge", 0.75)),
        store=None,
    )

    with pytest.raises(ConfigError, match=r"is not finished \(stopped\); resume with: evenhand resume"):
        compare(stopped.value.run, whole)
    found = compare(stopped.value.run, whole, anyway=True)

    assert (found.cases.scores.n, found.cases.pending) == (6, 2)
    assert "is not finished (stopped): cases not judged yet are in none of the numbers" in found.notes[0]


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"evaluators": Contains(value="paris")}, 'evaluators[contains].python.value[0]: "Paris" in A, "paris" in B'),
        ({"evaluators": Contains(value="Paris", weight=2)}, "evaluators[contains].python.weight: 1.0 in A, 2 in B"),
        ({"thresholds": {"pass": 0.9}}, "thresholds.pass: 0.8 in A, 0.9 in B"),
    ],
)
def test_runs_that_were_judged_differently_are_refused_by_name(other: dict[str, Any], told: str) -> None:
    a, b = answered(*["Rome"] * 6), answered(*["Paris"] * 6, **other)

    with pytest.raises(ConfigError, match="were not answered or judged by the same definition") as refused:
        compare(a, b)
    found = compare(a, b, anyway=True)

    assert f"- {told}\n" in str(refused.value)
    assert "--anyway" in str(refused.value)
    assert told in found.differing
    assert found.cases.scores.n == 6


def test_the_same_case_with_another_reference_is_refused() -> None:
    a, b = (
        evaluate([Case(id="one", candidate_answer="Paris", reference_answer=one)], PARIS, store=None)
        for one in ("Paris", "Rome")
    )

    with pytest.raises(ConfigError, match=r"1 case is judged differently \(question, .*: 'one'"):
        compare(a, b)


def test_other_models_are_noticed_where_definitions_leave_the_judge_open() -> None:
    cases = [Case(id="one", candidate_answer="Paris", expected_outcome="Names Paris")]
    a, b = (evaluate(cases, PromptEvaluator(judge=Saying(name, 0.5)), store=None) for name in ("one", "other"))

    with pytest.raises(ConfigError, match="- judge of llm_judge: one in A, other in B"):
        compare(a, b)


def test_an_evaluator_may_be_asked_for() -> None:
    both = [PARIS, Contains(name="short", value="P")]
    a, b = answered(*["Rome"] * 6, evaluators=both), answered(*["Porto"] * 6, evaluators=both)

    found = compare(a, b, evaluator="short", limit=None)

    assert found.subject.scores.better
    assert (len(found.changes), found.changed) == (6, 6)
    with pytest.raises(ConfigError, match="no evaluator of these runs is named 'shrot'"):
        compare(a, b, evaluator="shrot")


@pytest.mark.parametrize("limit", [-1, 1.5, True])
def test_a_limit_that_is_none_is_refused(limit: Any) -> None:
    with pytest.raises(ConfigError, match="it must be a whole number, 0 or more, or None"):
        compare(answered("Paris"), answered("Rome"), limit=limit)


def test_what_is_no_run_is_refused() -> None:
    with pytest.raises(ConfigError, match="compare takes runs, or their ids as text, not 5"):
        compare(5, answered("Rome"))  # type: ignore[call-overload]  # that is the mistake


def test_repeats_and_clusters_that_differ_are_noted() -> None:
    cases = [Case(id=f"case-{number}", candidate_answer="Paris", cluster=str(number)) for number in range(6)]

    found = compare(answered(*["Rome"] * 6), evaluate(cases, PARIS, store=None, repeat=2))

    assert "each case was judged 1 time in A, 2 times in B" in found.notes
    assert "6 cases have a different cluster in B; those of A are used, if there are any" in found.notes


# Labels

GRADES = {"right": 1, "partly": 0.5, "wrong": 0}


def labelled(*labels: str, repeat: int = 1, **rest: Any) -> Run:
    judge = Scripted([f'{{"label": "{label}"}}' for label in labels])
    cases = [
        Case(id=str(number), candidate_answer="x", reference_answer="y") for number in range(len(labels) // repeat)
    ]
    evaluator = rest.pop("evaluator", {"type": "llm_judge", "name": "grade", "choices": GRADES})
    return evaluate(cases, evaluator, judge=judge, store=None, concurrency=1, repeat=repeat, **rest)


def test_labels_are_counted_from_a_to_b() -> None:
    a = labelled("wrong", "wrong", "partly", "right")
    b = labelled("right", "wrong", "right", "right")

    comparison = compare(a, b)

    table = comparison.evaluators["grade"].labels
    assert table is not None
    assert table.labels == ("right", "partly", "wrong")
    assert table.counts == ((1, 0, 0), (1, 0, 0), (1, 0, 1))
    assert (table.same, table.without, comparison.cases.labels) == (2, 0, None)
    assert comparison.as_dict()["evaluators"]["grade"]["labels"]["counts"]["wrong"] == {
        "right": 1, "partly": 0, "wrong": 1,
    }  # fmt: skip
    text = comparison_text(comparison)
    assert "Labels of grade, from A (rows) to B (columns)" in text


def test_a_case_whose_repeats_disagree_has_no_label_to_count() -> None:
    a = labelled("wrong", "right", "right", "right", repeat=2)
    b = labelled("right", "right", "right", "right", repeat=2)

    table = compare(a, b).evaluators["grade"].labels

    assert table is not None
    assert (table.labels, table.counts, table.without) == (("right",), ((1,),), 1)
    assert "1 case without a label in one of the runs" in comparison_text(compare(a, b))


def test_without_choices_there_is_no_table_of_labels() -> None:
    comparison = compare(answered("Paris", "Rome"), answered("Rome", "Rome"))

    assert all(compared.labels is None for compared in comparison.evaluators.values())
    assert "labels" not in comparison.as_dict()["cases"]


# Metadata


@pytest.mark.parametrize(
    ("options", "key"),
    [({"template": "{{ candidate_answer }} {{ metadata.city }}"}, "city"), ({"prompt": "plan_adherence"}, "plan")],
)
@pytest.mark.parametrize("as_object", [False, True])
def test_metadata_that_a_judge_is_shown_must_be_the_same(options: dict[str, Any], key: str, as_object: bool) -> None:
    def run(value: str, **more: str) -> Run:
        cases = [Case(id="a", candidate_answer="x", metadata={key: value, **more})]
        judge = Scripted(['{"score": 1}'])
        evaluator = PromptEvaluator(judge=judge, **options) if as_object else {"type": "llm_judge", **options}
        return evaluate(cases, evaluator, judge=None if as_object else judge, store=None)

    assert compare(run("Graz"), run("Graz", other="x")).cases.in_common == 1
    with pytest.raises(ConfigError, match="1 case is judged differently"):
        compare(run("Graz"), run("Wien"))


def test_several_runs_are_each_compared_with_the_first_and_corrected_together() -> None:
    a, b, c = (answered(*[city] * 8) for city in ("Rome", "Paris", "Rome"))

    found = compare(a, b, c)

    assert isinstance(found, RunsComparison)
    assert (found.a.id, list(found.others)) == (a.id, [b.id, c.id])
    assert found.others[b.id].scores.wins == 8
    assert found.others[b.id].p_holm == pytest.approx(2 * 2 / 2**8)
    assert found.worse == ()
    text = comparison_text(found)
    assert f"Compared with {a.id}" in text
    assert "p corrected for 2 runs (Holm)" in text


def test_of_several_runs_those_that_cannot_be_compared_are_refused_by_name(tmp_path: Path) -> None:
    a, b = answered(*["Paris"] * 8), answered(*["Rome"] * 8)
    strict = answered(*["Rome"] * 8, thresholds={"pass": 0.9})

    found = compare(a, b, strict)
    anyway = compare(a, b, strict, anyway=True)

    assert list(found.others) == [b.id]
    assert "thresholds.pass: 0.8 in A, 0.9 in B" in found.refused[strict.id]
    assert found.worse == (b.id,)
    assert "Not compared" in found.save(tmp_path / "found.md").read_text(encoding="utf-8")
    assert "Not compared" in found.save(tmp_path / "found.html").read_text(encoding="utf-8")
    assert list(found.as_dict()["refused"]) == [strict.id]
    assert list(anyway.others) == [b.id, strict.id]
    assert "thresholds.pass: 0.8 in A, 0.9 in B" in anyway.notes[strict.id]


def test_where_none_of_several_runs_can_be_compared_all_reasons_are_given() -> None:
    a, b, c = answered("Paris", ids=["a"]), answered("Paris", ids=["b"]), answered("Paris", ids=["c"])

    with pytest.raises(ConfigError, match=rf"none of the runs can be compared with {a.id}:\n- {b.id}: .*\n- {c.id}: "):
        compare(a, b, c)


def test_a_run_is_named_once_among_several() -> None:
    a, b = answered("Paris"), answered("Rome")

    for others in ((b, b), (b, a)):
        with pytest.raises(ConfigError, match="is named twice; name each run once"):
            compare(a, *others)
