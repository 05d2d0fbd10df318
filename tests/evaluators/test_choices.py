"""A judge that gives one of a few labels."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from evenhand import Case, ConfigError, PromptEvaluator, Scripted, create_llm_as_judge, evaluate, jury
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.json_codec import evaluation_from
from evenhand.engine.identity import Fingerprints

CHOICES = {"correct": 1, "Partly right": 0.5, "wrong": 0}
CASE = Case(id="a", question="Capital of France?", candidate_answer="Paris", reference_answer="Paris")


def said(label: object, **more: Any) -> str:
    return json.dumps({"reasoning": "r", "label": label, **more})


def judged(*replies: str, **options: Any) -> tuple[Evaluation, Scripted]:
    judge = Scripted(list(replies))
    return PromptEvaluator(judge=judge, choices=options.pop("choices", CHOICES), **options).evaluate(CASE), judge


@pytest.mark.parametrize(
    ("reply", "label", "score", "verdict"),
    [
        ("correct", "correct", 1.0, "pass"),
        (" partly RIGHT\n", "Partly right", 0.5, "fail"),
        ("WRONG", "wrong", 0.0, "fail"),
    ],
)
def test_a_label_gives_its_score(reply: str, label: str, score: float, verdict: str) -> None:
    evaluation, judge = judged(said(reply))

    assert (evaluation.label, evaluation.score, evaluation.verdict) == (label, score, verdict)
    assert (evaluation.score_raw, evaluation.reasoning) == (label, "r")
    contract = judge.asked[0].contract
    assert contract is not None
    assert contract.schema()["properties"]["label"] == {"type": "string", "enum": list(CHOICES)}
    assert "score" not in contract.schema()["properties"]
    assert '- "label": exactly one of "correct", "Partly right", "wrong"' in judge.asked[0].messages[0].content


@pytest.mark.parametrize("reply", ["right", "correct.", "not correct", "correct or wrong", 1, None, ["correct"], ""])
def test_any_other_reply_is_asked_for_again(reply: object) -> None:
    evaluation, judge = judged(said(reply), said("wrong"))

    assert (evaluation.label, evaluation.retry_count, len(judge.asked)) == ("wrong", 1, 2)


def test_a_judge_that_gives_no_label_is_an_error() -> None:
    evaluation, _ = judged(*[said("perhaps")] * 3)

    assert (evaluation.status, evaluation.label) == ("error", None)
    assert evaluation.error is not None
    assert "label must be exactly one of" in evaluation.error


def test_a_reply_with_two_labels_has_the_other_on_record() -> None:
    evaluation, _ = judged(f"{said('wrong')} or {said('correct')}")

    assert evaluation.label == "wrong"
    assert evaluation.details["ambiguous"] == {
        "counted": "first",
        "score": 1.0,
        "verdict": "pass",
        "label": "correct",
    }


def test_other_numbers_are_put_between_0_and_1() -> None:
    evaluation, _ = judged(said("so-so"), choices={"bad": 1, "so-so": 3, "good": 5})

    assert (evaluation.score, evaluation.label) == (0.5, "so-so")


def test_samples_have_a_label_where_all_agree() -> None:
    same, _ = judged(*[said("Partly right")] * 3, samples=3)
    mixed, _ = judged(said("correct"), said("wrong"), samples=2)

    assert (same.label, same.score) == ("Partly right", 0.5)
    assert (mixed.label, mixed.score, mixed.score_raw) == (None, 0.5, ["correct", "wrong"])


def test_a_jury_has_no_label_of_its_own() -> None:
    judges = [Scripted([said("correct")]), Scripted([said("correct")])]

    evaluation = jury(judges, choices=CHOICES).evaluate(CASE)

    assert (evaluation.label, evaluation.score) == (None, 1.0)


def test_choices_go_with_a_template_and_a_ready_prompt() -> None:
    by_template, judge = judged(said("wrong"), template="Rate {{ candidate_answer }}")
    by_prompt, _ = judged(said("correct"), prompt="correctness")

    assert (by_template.label, by_prompt.label) == ("wrong", "correct")
    assert judge.asked[0].messages[1].content == "Rate Paris"


def test_the_rubrics_of_a_case_are_checked_by_another() -> None:
    checks = '{"checks": [{"id": "rubric-1", "satisfied": true}]}'
    case = Case(id="a", candidate_answer="Paris", reference_answer="Paris", rubrics=["Kind"])
    options: dict[str, Any] = {"store": None, "concurrency": 1}
    defined = {"type": "llm_judge", "name": "label", "choices": CHOICES}
    made = PromptEvaluator(name="label", choices=CHOICES, judge=Scripted([said("wrong")]))

    (by_definition,) = evaluate([case], defined, judge=Scripted([said("wrong"), checks]), **options)
    (by_object,) = evaluate([case], made, judge=Scripted([checks]), **options)

    for result in (by_definition, by_object):
        scores = {judgment.evaluation.evaluator: judgment.evaluation.score for judgment in result.judgments}
        assert scores == {"label": 0.0, "rubric": 1.0}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"choices": {"a": 1}}, "choices must map two labels or more to numbers, such as "),
        ({"choices": ["a", "b"]}, "choices must map two labels or more to numbers, such as "),
        ({"choices": {"a": 1, "A": 0}}, "choices: 'a' and 'A' differ only in case"),
        ({"choices": {"a": 1, " b": 0}}, "choices: ' b' is no label: it must be text of 1 to 80 characters"),
        ({"choices": {"a": 1, "b\0": 0}}, "choices: 'b\\x00' is no label"),
        ({"choices": {"a": 1, 2: 0}}, "choices: 2 is no label"),
        ({"choices": {"a": True, "b": 0}}, "choices: a is True; it must be a finite number"),
        ({"choices": {"a": "1", "b": 0}}, "choices: a is '1'; it must be a finite number"),
        ({"scale": "1-5"}, "choices and scale are two ways to score; drop one"),
        ({"rubrics": ["Kind"]}, "choices are for the answer as a whole; drop them, or rubrics"),
        ({"score_from": "logprobs"}, "score_from 'logprobs' reads one digit; the scale exactly one of"),
    ],
)
def test_what_are_no_choices_is_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as refused:
        PromptEvaluator(**{"judge": Scripted([]), "choices": CHOICES, **options})

    assert str(refused.value).startswith(f"llm_judge: {problem}")


def test_other_choices_make_another_evaluator_and_none_the_same_as_ever() -> None:
    judge = Scripted([])
    made = [PromptEvaluator(judge=judge, choices=choices) for choices in ({"a": 1, "b": 0}, {"b": 0, "a": 1})]

    assert len({Fingerprints().of(evaluator) for evaluator in made}) == 2


def test_an_evaluation_has_a_label_only_where_one_was_given() -> None:
    labelled, _ = judged(said("correct"))
    plain = PromptEvaluator(judge=Scripted(['{"score": 1}'])).evaluate(CASE)

    assert evaluation_from(labelled.as_dict()) == labelled
    assert labelled.as_dict()["label"] == "correct"
    assert "label" not in plain.as_dict()


def test_the_factory_takes_labels_too() -> None:
    rate = create_llm_as_judge(prompt="Rate {outputs}", judge=Scripted([said("partly right")]), choices=CHOICES)

    result = rate(outputs="x")

    assert (result["score"], result["metadata"]["label"]) == (0.5, "Partly right")


def test_reports_show_the_label(tmp_path: Any) -> None:
    evaluator = {"type": "llm_judge", "name": "grade", "choices": CHOICES}

    run = evaluate([CASE], evaluator, judge=Scripted([said("wrong")]), store=None)

    for name in ("run.csv", "run.html", "run.jsonl"):
        run.save(tmp_path / name)
    (row,) = csv.DictReader(io.StringIO((tmp_path / "run.csv").read_text()))
    assert (row["label"], row["score_raw"]) == ("wrong", "wrong")
    assert "label wrong" in (tmp_path / "run.html").read_text()
    assert '"label":"wrong"' in (tmp_path / "run.jsonl").read_text()
    assert "wrong: r" in run.report()
