"""A prompt is tried on models, and every case ends as scored, not evaluated or error (SPEC-M3, M4)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evenhand.domain.errors import ConfigError, ModelChoiceError
from evenhand.domain.evaluation import Status
from evenhand.domain.prompt import FieldError, Prompt, PromptText, TestCaseText
from evenhand.domain.run import CaseResult, RunRecord, RunStatus
from evenhand.domain.run_differences import SettingChange
from evenhand.engine.comparison import Side, compare_runs
from evenhand.engine.job import Pace
from evenhand.engine.plan import plan
from evenhand.engine.runner import Runner
from evenhand.models.replay import Scripted
from evenhand.store.store import Store
from evenhand.suites.run_settings import compare_sides
from evenhand.workspace.prompt_run import Trial

GOOD = '{"score": 0.9, "hits": [], "misses": [], "reasoning": "Right."}'
PRICED = '{"type": "object", "required": ["price"]}'


def tried(store: Store, trial: Trial) -> list[CaseResult]:
    job = trial.job(store)
    run = plan(store, job, trial.scope)
    ended = asyncio.run(Runner(store, run, job, Pace(concurrency=1)).run())
    assert ended.status is RunStatus.FINISHED
    return list(store.results(ended))


def model(*replies: str, name: str = "model/a") -> Any:
    return {"model": Scripted(replies, name=name)}


def test_in_llm_mode_the_judge_sees_prompt_input_output_and_criteria(store: Store) -> None:
    prompt = store.prompts.create(PromptText(name="p", content="You are terse.", evaluation_criteria="Names Paris"))
    store.prompts.add_cases(prompt.id, [TestCaseText(input="Capital of France?")])
    judge = Scripted([GOOD])
    answers = Scripted(["Paris"], name="model/a")

    (result,) = tried(store, Trial(prompt=prompt, models=[{"model": answers}], judge=judge))

    (asked,) = answers.asked
    assert [(one.role, one.content) for one in asked.messages] == [
        ("system", "You are terse."),
        ("user", "Capital of France?"),
    ]
    shown = judge.asked[0].messages[1].content
    assert all(text in shown for text in ("You are terse.", "Capital of France?", "Paris", "Names Paris"))
    assert (result.outcome.status, result.outcome.score) == (Status.SCORED, 0.9)
    assert result.answers[0].text == "Paris"


@pytest.mark.parametrize("criteria", [None, "", "  \n"])
def test_without_criteria_the_answer_is_kept_and_not_evaluated(store: Store, criteria: str | None) -> None:
    prompt = store.prompts.create(PromptText(name="p", evaluation_criteria=criteria))
    store.prompts.add_cases(prompt.id, [TestCaseText(input="Hi", reference="Hello")])

    (result,) = tried(store, Trial(prompt=prompt, models=[model("Hello!")]))

    assert result.outcome.status is Status.NOT_EVALUATED
    assert result.outcome.score is None
    assert result.answers[0].text == "Hello!"
    assert result.judgments[0].evaluation.reasoning == "The prompt has no evaluation criteria."


def test_in_schema_mode_each_test_case_has_its_own_schema(store: Store) -> None:
    prompt = store.prompts.create(PromptText(name="p", evaluation_mode="schema", evaluation_criteria="unused"))  # type: ignore[arg-type]
    store.prompts.add_cases(
        prompt.id,
        [
            TestCaseText(input="valid", evaluation_schema=PRICED),
            TestCaseText(input="invalid", evaluation_schema=PRICED),
            TestCaseText(input="no JSON", evaluation_schema="{}"),
            TestCaseText(input="none", evaluation_schema=" "),
        ],
    )

    results = tried(store, Trial(prompt=prompt, models=[model('{"price": 1}', '{"prize": 1}', "one", "two")]))

    assert [(one.outcome.status, one.outcome.score) for one in results] == [
        (Status.SCORED, 1.0),
        (Status.SCORED, 0.0),
        (Status.SCORED, 0.0),
        (Status.NOT_EVALUATED, None),
    ]
    assert results[1].judgments[0].evaluation.misses


def test_a_run_is_models_by_cases_by_repeats(store: Store) -> None:
    prompt = store.prompts.create(PromptText(name="p", evaluation_mode="schema"))  # type: ignore[arg-type]
    store.prompts.add_cases(prompt.id, [TestCaseText(input=text, evaluation_schema="{}") for text in ("x", "y")])
    models = [model(*["1"] * 6, name="model/a"), model(*["2"] * 6, name="model/b")]

    results = tried(store, Trial(prompt=prompt, models=models, repeat=3))

    assert len(results) == 4
    assert [len(one.judgments) for one in results] == [3] * 4
    assert {(one.case.metadata["model"], one.answers[0].text) for one in results} == {
        ("model/a", "1"),
        ("model/b", "2"),
    }
    assert {one.case.cluster for one in results} == {one.case.metadata["test_case"] for one in results}


def test_the_expected_schema_shapes_what_is_generated_and_judges_nothing(store: Store) -> None:
    prompt = store.prompts.create(
        PromptText(name="p", expected_schema=PRICED, evaluation_mode="schema")  # type: ignore[arg-type]
    )
    store.prompts.add_cases(prompt.id, [TestCaseText(input="x", evaluation_schema="{}")])
    answers = Scripted(['{"prize": 1}'])

    (result,) = tried(store, Trial(prompt=prompt, models=[{"model": answers}]))

    contract = answers.asked[0].contract
    assert contract is not None
    assert contract.schema()["required"] == ["price"]
    assert result.outcome.score == 1.0


def test_what_cannot_be_tried_is_refused_before_anything_is_asked(store: Store) -> None:
    prompt = store.prompts.create(PromptText(name="p"))

    with pytest.raises(FieldError, match=r"^models: there is none"):
        Trial(prompt=prompt, models=[])
    with pytest.raises(ConfigError, match="has no test cases yet"):
        Trial(prompt=prompt, models=[model()]).job(store)
    store.prompts.add_cases(prompt.id, [TestCaseText(input="x")])
    with pytest.raises(FieldError, match="has no test case 't-none'"):
        Trial(prompt=prompt, models=[model()], test_cases=["t-none"]).job(store)


def test_two_versions_of_a_prompt_can_be_compared(store: Store) -> None:
    """What differs is the system message, which is what was tried; the test cases and the criteria are the same."""
    first = store.prompts.create(PromptText(name="p", content="Be brief.", evaluation_criteria="Is brief"))
    store.prompts.add_cases(first.id, [TestCaseText(input=f"Question {number}") for number in range(6)])
    text = PromptText(name="p", content="Be very brief.", evaluation_criteria="Is brief")
    runs = []
    for prompt, score in ((first, 0.2), (store.prompts.edit(first.id, text, seen=1), 0.9)):
        grade = f'{{"score": {score}, "hits": [], "misses": [], "reasoning": ""}}'
        trial = Trial(prompt=prompt, models=[model(*["Yes."] * 6)], judge=Scripted([grade] * 6, name="judge"))
        job = trial.job(store)
        runs.append(asyncio.run(Runner(store, plan(store, job, trial.scope), job, Pace(concurrency=1)).run()))

    before, after = (Side(store=store, run=run) for run in runs)
    found = compare_sides(before, after)

    assert found.subject.scores.n == 6
    assert found.subject.scores.difference == pytest.approx(0.7)
    assert found.differences.settings == (
        SettingChange(name="Prompt version", before=1, after=2),
        SettingChange(name="System prompt", before="Be brief.", after="Be very brief."),
    )
    assert found.differences.edited.count == 0


# Runs of one model and of several


def run_of(store: Store, prompt: Prompt, **scores: float) -> RunRecord:
    """Try a prompt on some models, whose answers get some scores."""
    models = [model(*[name] * 6, name=f"model/{name}") for name in scores]
    replies = [f'{{"score": {score}, "hits": [], "misses": [], "reasoning": ""}}' for score in scores.values()] * 6
    trial = Trial(prompt=prompt, models=models, judge=Scripted(replies, name="judge"))
    job = trial.job(store)
    return asyncio.run(Runner(store, plan(store, job, trial.scope), job, Pace(concurrency=1)).run())


@pytest.fixture
def six(store: Store) -> Prompt:
    prompt = store.prompts.create(PromptText(name="p", evaluation_criteria="Is brief"))
    store.prompts.add_cases(prompt.id, [TestCaseText(input=f"Question {number}") for number in range(6)])
    return prompt


def test_a_run_of_one_model_is_compared_with_the_same_model_among_several(store: Store, six: Prompt) -> None:
    one, several = run_of(store, six, a=0.2), run_of(store, six, b=0.9, a=0.4)

    after = compare_runs(Side(store=store, run=one), Side(store=store, run=several))
    before = compare_runs(Side(store=store, run=several), Side(store=store, run=one))

    assert (after.subject.in_common, after.subject.only_b) == (6, 0)
    assert after.subject.scores.clusters is None
    assert after.subject.scores.difference == pytest.approx(0.2)
    assert (after.model_a, after.model_b) == (None, "model/a")
    assert after.notes == ("of B, only the answers of model/a are compared",)
    assert before.subject.scores.difference == pytest.approx(-0.2)


def test_where_the_model_is_not_clear_it_has_to_be_chosen(store: Store, six: Prompt) -> None:
    one, several = run_of(store, six, c=0.2), run_of(store, six, a=0.4, b=0.9)

    with pytest.raises(ModelChoiceError) as unclear:
        compare_runs(Side(store=store, run=one), Side(store=store, run=several), anyway=True)
    chosen = compare_runs(Side(store=store, run=one), Side(store=store, run=several, model="model/b"))

    assert (unclear.value.side, unclear.value.models) == ("b", ("model/a", "model/b"))
    assert str(unclear.value) == (
        f"run {several.id} (B) has the answers of several models, and run {one.id} those of model/c; choose which to "
        "compare, model/a or model/b: --model-b NAME, or model_b in Python and in the API"
    )
    assert chosen.subject.scores.difference == pytest.approx(0.7)


def test_two_models_of_one_run_can_be_compared(store: Store, six: Prompt) -> None:
    several = run_of(store, six, a=0.4, b=0.9)

    found = compare_runs(
        Side(store=store, run=several, model="model/a"), Side(store=store, run=several, model="model/b")
    )

    assert found.subject.scores.difference == pytest.approx(0.5)
    with pytest.raises(ConfigError, match="cannot be compared with itself"):
        compare_runs(Side(store=store, run=several, model="model/a"), Side(store=store, run=several))


def test_two_runs_of_several_models_meet_in_the_models_that_both_have(store: Store, six: Prompt) -> None:
    first, second = run_of(store, six, a=0.4, b=0.9), run_of(store, six, b=0.9, c=0.1)

    both = compare_runs(Side(store=store, run=first), Side(store=store, run=second))
    chosen = compare_runs(Side(store=store, run=first, model="model/b"), Side(store=store, run=second))

    assert (both.subject.in_common, both.subject.only_a, both.subject.only_b) == (6, 6, 6)
    assert (chosen.model_b, chosen.subject.in_common, chosen.subject.only_b) == ("model/b", 6, 0)


def test_two_runs_of_several_other_models_say_what_to_choose(store: Store, six: Prompt) -> None:
    first, second = run_of(store, six, a=0.4, b=0.9), run_of(store, six, c=0.9, d=0.1)

    with pytest.raises(ConfigError, match="A has the answers of model/a, model/b, B those of model/c, model/d; choose"):
        compare_runs(Side(store=store, run=first), Side(store=store, run=second))
    found = compare_runs(Side(store=store, run=first, model="model/a"), Side(store=store, run=second, model="model/d"))

    assert found.subject.scores.difference == pytest.approx(-0.3)


@pytest.mark.slow
def test_a_model_that_did_not_answer_cannot_be_chosen(store: Store, six: Prompt) -> None:
    one, several = run_of(store, six, a=0.2), run_of(store, six, a=0.4, b=0.9)

    with pytest.raises(ConfigError, match=f"model_b: run {several.id} has no answers of 'model/x'; did you mean"):
        compare_runs(Side(store=store, run=one), Side(store=store, run=several, model="model/x"))
    same = compare_runs(Side(store=store, run=one, model="model/a"), Side(store=store, run=several))

    assert (same.model_a, same.model_b) == (None, "model/a")
