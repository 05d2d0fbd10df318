"""Rubric mode of the prompt evaluator (SPEC-P3, P4, P7, P8)."""

import json
import math
import warnings
from typing import Any

import pytest

from evenhand import (
    Case,
    ConfigError,
    Evaluation,
    PromptEvaluator,
    Reply,
    Scripted,
    Status,
    TokenChoice,
    Verdict,
    registry,
)
from evenhand.domain.contract import MOST_SEARCHES, Checks, FieldContract
from evenhand.domain.errors import ContractError
from evenhand.domain.rubric import rubric_items
from evenhand.domain.verdict import Thresholds

CASE = Case(id="refund", question="Refund?", candidate_answer="Yes, within 30 days. Sorry for the trouble!")
SAFE = {"id": "safe", "description": "Gives no dangerous advice"}
KIND = {"id": "kind", "description": "Is kind", "required": False, "weight": 3}
TONE = {"id": "tone", "description": "Tone", "score_ranges": {0: "rude", 4: "neutral", 8: "warm"}}


def checks(**found: bool | int | dict[str, Any]) -> str:
    rows = []
    for key, value in found.items():
        row: dict[str, Any] = {"id": key}
        if isinstance(value, dict):
            row |= value
        elif isinstance(value, bool):
            row["satisfied"] = value
        else:
            row["score"] = value
        rows.append(row)
    return json.dumps({"checks": rows, "overall_reasoning": "All in all."})


def judged(*replies: str | Reply, rubrics: list[Any], case: Case = CASE, **options: Any) -> Evaluation:
    return PromptEvaluator(judge=Scripted(replies), rubrics=rubrics, **options).evaluate(case)


def test_a_missed_required_rubric_fails_whatever_the_score() -> None:
    evaluation = judged(checks(safe=False, kind=True), rubrics=[SAFE, KIND])

    assert (evaluation.score, evaluation.verdict) == (0.75, Verdict.FAIL)
    assert evaluation.misses == ("[safe] Gives no dangerous advice",)
    assert evaluation.hits == ("[kind] Is kind",)
    assert evaluation.reasoning == "All in all."


def test_reasoning_stands_behind_its_item() -> None:
    evaluation = judged(checks(safe={"satisfied": True, "reasoning": " It is. "}), rubrics=[SAFE])

    assert evaluation.hits == ("[safe] Gives no dangerous advice: It is.",)
    assert evaluation.checks[0].reasoning == "It is."


def test_all_items_are_listed_even_more_than_four() -> None:
    rubrics = [f"Point {number}" for number in range(6)]
    reply = checks(**{f"rubric-{number}": number != 6 for number in range(1, 7)})

    evaluation = judged(reply, rubrics=rubrics)

    assert (len(evaluation.hits), len(evaluation.misses)) == (5, 1)


@pytest.mark.parametrize(
    "reply",
    [
        checks(safe=True),
        '{"checks": []}',
        '{"checks": [{"id": "safe", "satisfied": true}, {"id": "safe", "satisfied": true}, {"id": "kind", "satisfied": true}]}',
        '{"checks": [{"id": "safe", "satisfied": "true"}, {"id": "kind", "satisfied": true}]}',
        '{"checks": [{"id": "safe", "satisfied": 1}, {"id": "kind", "satisfied": true}]}',
        '{"checks": [{"id": "safe"}, {"id": "kind", "satisfied": true}]}',
        '{"checks": {"safe": true, "kind": true}}',
        '{"checks": [true, true]}',
        '{"checks": [{"id": 1, "satisfied": true}]}',
        '{"checks": [{"id": "a", "satisfied": true}, {"id": "b", "satisfied": true}]}',
        '{"score": 1.0, "hits": ["safe", "kind"]}',
    ],
)
def test_a_check_that_is_missing_doubled_or_no_boolean_is_asked_for_again_and_never_passed(reply: str) -> None:
    asked_again = judged(reply, checks(safe=True, kind=True), rubrics=[SAFE, KIND])
    hopeless = judged(*[reply] * 3, rubrics=[SAFE, KIND])

    assert (asked_again.score, asked_again.retry_count) == (1.0, 1)
    assert (hopeless.status, hopeless.score, len(hopeless.attempts)) == (Status.ERROR, 0.0, 3)


def test_unknown_ids_are_dropped_and_flagged() -> None:
    evaluation = judged(checks(safe=True, kind=True, invented=False), rubrics=[SAFE, KIND])

    assert (evaluation.score, evaluation.flags) == (1.0, ("unknown_ids",))


def test_bands_are_scored_in_tenths_by_weight() -> None:
    evaluation = judged(checks(tone=7, kind=True), rubrics=[TONE, KIND])

    assert evaluation.score == pytest.approx((0.7 + 3) / 4)
    assert evaluation.checks[0].score == 7
    assert evaluation.hits == ("[tone] Tone", "[kind] Is kind")


def test_a_band_is_a_hit_from_the_borderline_threshold_on() -> None:
    assert judged(checks(tone=6), rubrics=[TONE]).hits == ("[tone] Tone",)
    assert judged(checks(tone=5), rubrics=[TONE]).misses == ("[tone] Tone",)
    assert judged(checks(tone=5), rubrics=[TONE], thresholds={"pass": 0.8, "borderline": 0.5}).hits == ("[tone] Tone",)


@pytest.mark.parametrize("score", [7.5, 11, -1, "high", True, None])
def test_a_band_score_must_be_an_integer_from_zero_to_ten(score: Any) -> None:
    bad = json.dumps({"checks": [{"id": "tone", "score": score}]})

    assert judged(bad, checks(tone=7), rubrics=[TONE]).retry_count == 1


def test_a_minimum_gates_the_verdict() -> None:
    gated = TONE | {"required_min_score": 9}

    assert judged(checks(tone=8), rubrics=[gated]).verdict is Verdict.FAIL
    assert judged(checks(tone=9), rubrics=[gated]).verdict is Verdict.PASS


@pytest.mark.parametrize("samples", [None, 3])
def test_an_item_below_its_minimum_is_a_miss(samples: int | None) -> None:
    gated = TONE | {"required_min_score": 9}

    evaluation = judged(*[checks(tone=8)] * (samples or 1), rubrics=[gated], samples=samples)

    assert (evaluation.hits, evaluation.misses) == ((), ("[tone] Tone",))
    assert [check.satisfied for check in evaluation.checks] == [False]
    assert evaluation.verdict is Verdict.FAIL
    assert evaluation.score == pytest.approx(0.8)


def test_the_items_and_their_bands_stand_in_the_system_prompt_also_with_a_template() -> None:
    judge = Scripted([checks(tone=8)])

    PromptEvaluator(judge=judge, rubrics=[TONE], template="{{ candidate_answer }}").evaluate(CASE)

    system, user = judge.asked[0].messages
    assert '- id "tone": Tone\n  - 0 to 3: rude\n  - 4 to 7: neutral\n  - 8 to 10: warm' in system.content
    assert user.content == CASE.candidate_answer


def test_a_cases_rubrics_replace_the_evaluators() -> None:
    case = Case(candidate_answer="x", rubrics=["Own item"])

    evaluation = judged('{"checks": [{"id": "rubric-1", "satisfied": true}]}', rubrics=[SAFE], case=case)

    assert evaluation.hits == ("[rubric-1] Own item",)


def test_separate_mode_asks_for_each_item_on_its_own() -> None:
    judge = Scripted([checks(safe=True), "no", checks(kind=False)])

    evaluation = PromptEvaluator(judge=judge, rubrics=[SAFE, KIND], rubric_mode="separate").evaluate(CASE)

    assert (evaluation.score, evaluation.retry_count, len(evaluation.attempts)) == (0.25, 1, 3)
    assert ["kind" in ask.messages[0].content for ask in judge.asked] == [False, True, True]
    assert list(evaluation.details["requests"]) == ["safe", "kind"]


def test_in_separate_mode_one_item_that_cannot_be_judged_is_an_error() -> None:
    evaluation = judged(checks(safe=True), *["no"] * 3, rubrics=[SAFE, KIND], rubric_mode="separate")

    assert (evaluation.status, evaluation.score, len(evaluation.attempts)) == (Status.ERROR, 0.0, 4)
    assert evaluation.error == "unparsable: the reply has no complete JSON object (item 'kind')"
    assert "Is kind" in evaluation.details["requests"]["kind"]["systemPrompt"]


def test_a_shuffled_order_is_seeded_and_recorded_and_changes_nothing_else() -> None:
    rubrics = [f"Point {number}" for number in range(8)]
    reply = checks(**{f"rubric-{number}": True for number in range(1, 9)})
    judges = [Scripted([reply]) for _ in range(3)]

    one, again, other = (
        PromptEvaluator(judge=judge, rubrics=rubrics, shuffle=seed).evaluate(CASE)
        for judge, seed in zip(judges, (1, 1, 2), strict=True)
    )

    assert one.details["order"] == again.details["order"] != other.details["order"]
    assert sorted(one.details["order"][0]) == sorted(check.id for check in one.checks)
    assert [check.id for check in one.checks] == [f"rubric-{number}" for number in range(1, 9)]
    listed = judges[0].asked[0].messages[0].content
    places = [listed.index(f'id "{key}"') for key in one.details["order"][0]]
    assert places == sorted(places)


def test_a_judge_that_always_ticks_the_first_item_averages_out_over_shuffled_samples() -> None:
    class FirstOnly:
        name = "first-only"

        async def ask(self, ask: Any, *, deadline: float | None = None) -> Reply:
            ids = [line.split('"')[1] for line in ask.messages[0].content.splitlines() if line.startswith('- id "')]
            return Reply.said(json.dumps({"checks": [{"id": key, "satisfied": key == ids[0]} for key in ids]}))

    evaluator = PromptEvaluator(judge=FirstOnly(), rubrics=["one", "two"], shuffle=3, score_from="samples", samples=200)

    evaluation = evaluator.evaluate(CASE)

    assert evaluation.score == 0.5
    assert evaluation.checks[0].probability == pytest.approx(0.5, abs=0.1)


def test_evidence_must_stand_in_the_answer_word_for_word() -> None:
    quoted = checks(kind={"satisfied": True, "evidence": "Sorry for the trouble!"})
    made_up = checks(kind={"satisfied": True, "evidence": "We deeply apologise"})
    none = checks(kind={"satisfied": False, "evidence": ""})

    found = judged(quoted, rubrics=[KIND], evidence=True)
    asked_again = judged(made_up, quoted, rubrics=[KIND], evidence=True)
    without = judged(none, rubrics=[KIND], evidence=True)

    assert found.checks[0].evidence == "Sorry for the trouble!"
    assert asked_again.retry_count == 1
    assert asked_again.attempts[0].error == (
        "contract: check 'kind': the evidence is not a verbatim quote from the candidate answer"
    )
    assert (without.checks[0].evidence, without.flags) == (None, ("unquoted",))
    assert (
        judged(checks(kind={"satisfied": True, "evidence": False}), quoted, rubrics=[KIND], evidence=True).retry_count
        == 1
    )


def test_evidence_is_not_given_up_for_a_judge_that_prefers_probabilities() -> None:
    class Embedded(Scripted):
        prefers_logprobs = True

    reply = checks(kind={"satisfied": True, "evidence": "Sorry"})

    assert (
        PromptEvaluator(judge=Embedded([reply]), rubrics=[KIND], evidence=True).evaluate(CASE).checks[0].evidence
        == "Sorry"
    )


def yes(probability: float) -> Reply:
    choices = (
        TokenChoice(token=" Yes", logprob=math.log(probability * 0.9)),
        TokenChoice(token="NO", logprob=math.log((1 - probability) * 0.9)),
        TokenChoice(token="Maybe", logprob=math.log(0.1)),
    )
    return Reply.said("Yes", first_token=choices)


def test_binary_checks_can_be_read_from_the_probability_of_yes() -> None:
    judge = Scripted([yes(0.75), yes(0.25)])

    evaluation = PromptEvaluator(judge=judge, rubrics=[SAFE, KIND], score_from="logprobs").evaluate(CASE)

    assert [(check.satisfied, check.probability) for check in evaluation.checks] == [(True, 0.75), (False, 0.25)]
    assert (evaluation.score, evaluation.flags) == (0.25, ("logprobs",))
    assert evaluation.details["probability_mass"] == {"safe": 0.9, "kind": 0.9}
    assert (
        judge.asked[1]
        .messages[1]
        .content.endswith("Statement about the answer: Is kind\nIs the statement true of the answer, yes or no?")
    )


def test_auto_reads_probabilities_only_from_judges_that_prefer_it() -> None:
    class Embedded(Scripted):
        prefers_logprobs = True

    by_probability = PromptEvaluator(judge=Embedded([yes(0.75)]), rubrics=[SAFE]).evaluate(CASE)
    freely = PromptEvaluator(judge=Embedded(['{"score": 0.5}'])).evaluate(
        Case(candidate_answer="x", expected_outcome="y")
    )
    banded = PromptEvaluator(judge=Embedded([checks(tone=7)]), rubrics=[TONE]).evaluate(CASE)

    assert by_probability.checks[0].probability == 0.75
    assert (freely.score, banded.score) == (0.5, 0.7)


def test_bands_cannot_be_read_from_one_token() -> None:
    case = Case(candidate_answer="x", rubrics=[TONE])

    evaluation = judged(rubrics=[], case=case, score_from="logprobs")

    assert evaluation.error == "config: score_from 'logprobs' checks yes-or-no items; this case has score bands"
    with pytest.raises(ConfigError, match="yes-or-no items, without score_ranges"):
        judged(rubrics=[TONE], score_from="logprobs")


def test_the_old_type_rubric_loads_as_llm_judge_with_a_note() -> None:
    with pytest.warns(DeprecationWarning, match="'rubric' is the old name; write 'llm_judge'"):
        evaluator = registry.evaluator({"type": "rubric", "name": "old", "rubrics": ["x"], "judge": Scripted([])})

    assert (type(evaluator), evaluator.type) == (PromptEvaluator, "llm_judge")


def test_the_old_type_rubric_without_items_is_a_configuration_error() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with pytest.raises(ConfigError, match=r"evaluator 'old' \(rubric\): rubrics is empty"):
            registry.evaluator({"type": "rubric", "name": "old", "judge": Scripted([])})
        with pytest.raises(ConfigError, match=r"evaluator 'old' \(rubric\): no option 'weigth'"):
            registry.evaluator({"type": "rubric", "name": "old", "rubrics": ["x"], "weigth": 1, "judge": Scripted([])})


def test_an_empty_answer_is_shown_as_one_to_a_judge_that_is_read_by_probability() -> None:
    judge = Scripted([Reply.said("No", first_token=(TokenChoice(token="no", logprob=-0.1),))])
    case = Case(question="Why?", candidate_answer="", reference_answer="Because.")

    evaluation = PromptEvaluator(judge=judge, rubrics=["Gives a reason"], score_from="logprobs").evaluate(case)

    assert evaluation.score == 0.0
    assert "\nAnswer: (an empty answer)\n" in judge.asked[0].messages[1].content


def test_a_judge_that_considers_neither_yes_nor_no_has_broken_its_contract() -> None:
    judge = Scripted([Reply.said("Maybe", first_token=(TokenChoice(token="Maybe", logprob=-0.1),))])

    evaluation = PromptEvaluator(judge=judge, rubrics=["Is kind"], score_from="logprobs").evaluate(
        Case(candidate_answer="x")
    )

    assert evaluation.error is not None
    assert evaluation.error.startswith("contract: the judge hardly considered yes or no")
    assert evaluation.error.endswith("(item 'rubric-1')")


def test_quotes_are_looked_up_so_often_and_no_more_however_many_objects_a_reply_has() -> None:
    items = rubric_items(["one"])
    answer = "The answer."
    contract = FieldContract(name="rubric", fields=(Checks(items=items, thresholds=Thresholds(), answer=answer),))
    check = {"id": "rubric-1", "satisfied": True, "evidence": "The answer."}
    reply = json.dumps({"checks": [check]})

    for _ in range(MOST_SEARCHES):
        contract.accept(json.loads(reply))

    with pytest.raises(ContractError, match="more pieces of evidence than can be looked up"):
        contract.accept(json.loads(reply))
