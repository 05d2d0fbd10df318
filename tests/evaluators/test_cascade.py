"""Cascades: who decides, what becomes of stages that fail, and what is refused."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from evenhand import (
    BaseEvaluator,
    Cascade,
    Case,
    CompositeEvaluator,
    ConfigError,
    Evaluation,
    PromptEvaluator,
    Reply,
    Scripted,
    Status,
    Steps,
    Usage,
    Verdict,
    evaluate,
)
from evenhand.evaluators.cascade import LEFT_TO_PEOPLE, STAGE_FAILED
from evenhand.reports.overview import Overview, survey

CASE = Case(id="france", question="Capital of France?", candidate_answer="Paris", expected_outcome="Names Paris")

VALID: dict[str, Any] = {"confident": 0.5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Given(BaseEvaluator):
    """Finds what it is told to: a score, "error", None for nothing to judge, or an exception."""

    type: ClassVar[str] = "given"
    finds: Any
    says: dict[str, Any] = field(default_factory=dict)

    def steps(self, case: Case) -> Steps[Evaluation]:
        yield from ()
        if isinstance(self.finds, Exception):
            raise self.finds
        if self.finds is None:
            return self.not_evaluated("Nothing to judge.")
        if self.finds == "error":
            return self.failed("unparsable: no JSON")
        return self.scored(self.finds, hits=("a hit",), details=self.says)


def stages(*finds: Any) -> list[Given]:
    return [one if isinstance(one, Given) else Given(name=f"s{n}", finds=one) for n, one in enumerate(finds, start=1)]


def judge(name: str, *scores: float) -> PromptEvaluator:
    return PromptEvaluator(name=name, judge=Scripted([f'{{"score": {score}}}' for score in scores], name=name))


def priced(name: str, said: list[tuple[float, int]]) -> PromptEvaluator:
    """A judge that says how many tokens it took."""
    replies = [Reply.said(f'{{"score": {score}}}', usage=Usage(input_tokens=tokens)) for score, tokens in said]
    return PromptEvaluator(name=name, judge=Scripted(replies, name=name))


@pytest.mark.parametrize(
    ("finds", "options", "status", "score", "decided_by", "came_to"),
    [
        # The pass mark is 0.8: 0.9 is half way up to 1, and 0.4 half way down to 0.
        ((0.9, 0.0), {}, "scored", 0.9, 1, "decided not_asked"),
        ((0.4, 1.0), {}, "scored", 0.4, 1, "decided not_asked"),
        ((0.85, 0.7), {}, "scored", 0.7, 2, "unsure decided"),
        ((0.5, 0.7, 1.0), {"confident": [0.9, 0.1]}, "scored", 0.7, 2, "unsure decided not_asked"),
        ((0.85, 0.7), {"then": "people"}, "not_evaluated", None, None, "unsure unsure"),
        ((0.85, 0.1), {"then": "people"}, "scored", 0.1, 2, "unsure decided"),
        # One that failed decides nothing, and is no zero.
        (("error", 0.9), {}, "scored", 0.9, 2, "error decided"),
        ((ValueError("no"), 0.9), {}, "scored", 0.9, 2, "error decided"),
        ((None, 0.9), {}, "scored", 0.9, 2, "not_evaluated decided"),
        ((0.85, "error"), {}, "error", 0.0, None, "unsure error"),
        ((0.85, "error"), {"then": "people"}, "not_evaluated", None, None, "unsure error"),
        # Nobody has judged it: no matter for people.
        (("error", "error"), {"then": "people"}, "error", 0.0, None, "error error"),
        (("error", None), {"then": "people"}, "error", 0.0, None, "error not_evaluated"),
        ((None, None), {"then": "people"}, "not_evaluated", None, None, "not_evaluated not_evaluated"),
    ],
)
def test_the_first_stage_that_is_sure_enough_decides(
    finds: Any, options: dict[str, Any], status: str, score: float | None, decided_by: int | None, came_to: str
) -> None:
    evaluation = Cascade(name="correct", stages=stages(*finds), **{"confident": 0.5} | options).evaluate(CASE)
    way = evaluation.details["cascade"]

    assert (evaluation.evaluator, evaluation.type) == ("correct", "cascade")
    assert (evaluation.status, evaluation.score) == (status, score)
    assert way["decided_by"] == decided_by
    assert [row["came_to"] for row in way["stages"]] == came_to.split()
    assert len(evaluation.details["members"]) == len([word for word in came_to.split() if word != "not_asked"])
    is_left = evaluation.reasoning == LEFT_TO_PEOPLE
    assert is_left == (way["left_to"] == "people") == (status == "not_evaluated" and finds[0] is not None)
    assert (STAGE_FAILED in evaluation.flags) == (came_to == "error decided")


def test_what_an_evaluator_says_of_its_confidence_counts_before_its_score() -> None:
    unsure = Given(name="own", finds=1.0, says={"confidence": 0.4})
    silent = Given(name="silent", finds=1.0, says={"confidence": "high"})
    # A verdict that does not follow from the score: how far that lies from the mark says nothing.
    required = PromptEvaluator(
        name="rubric",
        rubrics=[{"id": "a", "description": "A", "required": True}, {"id": "b", "description": "B", "weight": 9}],
        judge=Scripted(['{"checks": [{"id": "a", "satisfied": false}, {"id": "b", "satisfied": true}]}']),
    )

    for first, confidence in ((unsure, 0.4), (silent, None), (required, None)):
        evaluation = Cascade(stages=[first, Given(finds=0.0)], confident=0.5).evaluate(CASE)
        assert evaluation.score == 0.0
        assert evaluation.details["cascade"]["stages"][0]["confidence"] == confidence


def test_everything_that_was_said_and_spent_is_kept() -> None:
    evaluation = Cascade(stages=[judge("cheap", 0.75), judge("strong", 1.0)], confident=0.5).evaluate(CASE)

    assert [attempt.raw for attempt in evaluation.attempts] == ['{"score": 0.75}', '{"score": 1.0}']
    first, second = evaluation.details["members"]
    assert (first["evaluator"], first["score"], first["attempts"]) == ("cheap", 0.75, 1)
    assert (second["evaluator"], second["verdict"], second["details"]["judge"]) == ("strong", "pass", "strong")
    assert evaluation.verdict is Verdict.PASS
    assert evaluation.evaluator_provider_request is not None


def test_a_cascade_can_be_a_member_and_have_a_jury_as_a_stage() -> None:
    jury = CompositeEvaluator(name="jury", members=[judge("a", 0.9), judge("b", 1.0)], aggregator="median")
    cascade = Cascade(name="way", stages=[judge("cheap", 0.7), jury], confident=0.5)
    team = CompositeEvaluator(name="team", members=[cascade, Given(finds=0.5)], aggregator="min")

    run = evaluate([CASE], [team], store=None)

    assert run.summary.cases.mean == 0.5
    tally = run.summary.cascades["team/way"]
    assert [(stage.name, stage.decided, stage.calls) for stage in tally.stages] == [("cheap", 0, 1), ("jury", 1, 2)]
    assert run.summary.judges == ("a", "b", "cheap")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"stages": stages(0.5)}, "cascade: stages must be a list with at least 2 evaluators"),
        ({"stages": {"type": "equals"}}, "stages must be a list with at least 2"),
        ({"stages": [Given, 3]}, "stage 1 is <class"),
        ({"stages": [{"type": "equlas"}, {"type": "equals"}]}, "did you mean 'equals'"),
        ({"confident": 1.2}, "confident is 1.2; it must be a number from 0 to 1"),
        ({"confident": True}, "confident is True; it must be a number"),
        ({"confident": float("nan")}, "confident is nan; it must be"),
        ({"confident": "sure"}, "confident is 'sure'; it must be a number from 0 to 1"),
        ({"confident": [0.5, 0.5]}, "confident has 2 numbers, and 1 of 2 stages need one, as the last one always"),
        ({"confident": [0.5], "then": "people"}, "confident has 1 numbers, and 2 of 2 stages need one"),
        ({"then": "nobody"}, "then is 'nobody'; it must be people, or left out"),
        ({"stages": [Given(finds=1.0, weight=2), Given(finds=1.0)]}, "stage 1 has a weight or is required"),
        ({"stages": [Cascade(stages=stages(1, 1), confident=0), Given(finds=1)]}, "stage 1 is a cascade itself"),
    ],
)
def test_what_makes_no_cascade_is_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Cascade(**{"stages": stages(0.5, 0.5), **VALID, **options})

    assert problem in str(refused.value)


def test_in_a_composite_nothing_can_be_left_to_people() -> None:
    cascade = Cascade(stages=stages(0.5, 0.5), confident=0.5, then="people")

    with pytest.raises(ConfigError, match="member 1 is a cascade that leaves cases to people"):
        CompositeEvaluator(members=[cascade, Given(finds=1)])


# What a run says of it


def test_the_report_says_who_decided_how_much_and_what_that_saved() -> None:
    cheap = priced("cheap", [(score, 1000) for score in (1.0, 0.0, 0.7, 0.75, 0.85, 0.9, 0.1, 1.0)])
    strong = priced("strong", [(1.0, 1000), (0.8, 3000), (0.1, 2000)])
    cases = [Case(id=f"c{n}", question=f"{n}?", candidate_answer="x", expected_outcome="y") for n in range(8)]
    prices = {"cheap": {"input": 0, "output": 0}, "strong": {"input": 3, "output": 10}}
    cascade = Cascade(name="correct", stages=[cheap, strong], confident=0.5, then="people")

    run = evaluate(cases, cascade, store=None, prices=prices, concurrency=1)
    tally = run.summary.cascades["correct"]

    assert (tally.evaluations, tally.left_to_people, tally.spared) == (8, 1, 5)
    assert [(one.asked, one.decided, one.unsure, one.errors) for one in tally.stages] == [(8, 5, 3, 0), (3, 2, 1, 0)]
    sentence = "of 8 cases, 5 decided by stage 1 (cheap), 2 by stage 2 (strong); 1 left to people"
    for form in ("text", "html", "md"):
        assert sentence in " ".join(run.report(form).split()), form
    saved = (
        "the last stage was spared 5 of 8 cases (62%); all of them would have cost about $0.048 [$0.018, $0.095] there, "
        "and the cascade cost $0.018: $0.030 (62%) less"
    )
    assert saved in " ".join(run.report("text").split())
    found = json.loads(run.report("json"))["summary"]["cascades"]["correct"]
    assert [stage["decided"] for stage in found["stages"]] == [5, 2]
    assert Overview.from_dict(json.loads(json.dumps(survey(run).as_dict()))).summary.cascades == run.summary.cascades
    left = [result for result in run if result.outcome.status is Status.NOT_EVALUATED]
    assert [result.judgments[0].evaluation.reasoning for result in left] == [LEFT_TO_PEOPLE]
