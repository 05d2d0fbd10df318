"""Several targets in one run: what a definition stands for, who answers which case, and how they compare."""

from __future__ import annotations

import re
from typing import Any

import pytest

from evenhand import Case, Contains, compare, evaluate
from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Attempt, Usage
from evenhand.domain.reply import Reply
from evenhand.domain.took import Took
from evenhand.engine.run import Run
from evenhand.engine.target import target_of, with_model
from evenhand.engine.targets.several import SeveralTargets, assigned_keys, single_targets, target_names, targets_by_name
from evenhand.models.replay import Scripted
from evenhand.reports.comparison import comparison_text
from evenhand.suites.definition_diff import judging_differences

TERSE, KIND = "In a word: {{ input }}", "Kindly: {{ input }}"
SEVERAL: dict[str, Any] = {
    "models": ["ollama/a", {"model": "ollama:b", "temperature": 0.5, "name": "bold"}],
    "prompts": {"terse": TERSE, "kind": {"system": "Be kind.", "prompt": KIND}},
    "temperature": 0,
}


def test_every_model_is_asked_with_every_prompt() -> None:
    assert targets_by_name(SEVERAL) == {
        "ollama/a + terse": {"model": "ollama/a", "temperature": 0, "prompt": TERSE},
        "ollama/a + kind": {"model": "ollama/a", "temperature": 0, "system": "Be kind.", "prompt": KIND},
        "bold + terse": {"model": "ollama:b", "temperature": 0.5, "prompt": TERSE},
        "bold + kind": {"model": "ollama:b", "temperature": 0.5, "system": "Be kind.", "prompt": KIND},
    }


@pytest.mark.parametrize(
    "target",
    [
        SEVERAL,
        ["ollama/a", {"name": "app", "command": ["app", "--new"]}, {"command": ["app", "--old one"]}],
        {"model": "ollama:a", "prompts": {"terse": TERSE, "kind": KIND}},
        [{"name": "v1", "model": "ollama/a", "prompts": {"terse": TERSE}}, "ollama/a"],
    ],
)
def test_a_definition_names_its_targets_as_the_targets_themselves_do(target: Any) -> None:
    made = target_of(target)

    assert isinstance(made, SeveralTargets)
    assert target_names(target) == list(made.by_name)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ([], "target: the list is empty; name at least one target"),
        ([["ollama/a"]], "target: a list of targets has a list in it"),
        ({"models": []}, "target: models must be a list of names"),
        ({"models": "ollama/a"}, "target: models must be a list of names"),
        ({"model": "ollama/a", "models": ["ollama/b"]}, "target: it has model and models"),
        ({"command": ["app"], "prompts": {"a": TERSE}}, "target: prompts are for a model"),
        ({"model": "ollama/a", "prompt": TERSE, "prompts": {"a": KIND}}, "target: it has prompt and prompts"),
        ({"models": [{"model": "ollama/a", "prompt": TERSE}], "prompts": {"a": KIND}}, "target: a model has a prompt"),
        ({"model": "ollama/a", "prompts": [TERSE]}, "target: prompts must be a mapping from names to texts"),
        ({"model": "ollama/a", "prompts": {}}, "target: prompts must be a mapping from names to texts"),
        ({"model": "ollama/a", "prompts": {"a": 5}}, "target: prompts: 'a' must be text, or a mapping with prompt or"),
        ({"model": "ollama/a", "prompts": {"a": {"systm": "x", "prompt": TERSE}}}, "did you mean 'system'?"),
        ({"model": "ollama/a", "prompts": {"a\nb": TERSE}}, "target: prompts: a name must be text of one line"),
        ({"model": "ollama/a", "prompts": {7: TERSE}}, "target: prompts: a name must be text of one line"),
        ({"model": "ollama/a", "prompts": {"a": "no place"}}, "target: the prompt must use {{ input }}"),
        ({"models": ["ollama/a"], "name": "both"}, "target: name is for one target, and models are several"),
        (["ollama/a", "ollama:a"], "target: two targets are named 'ollama/a'; give each a name of its own"),
        ([{"name": "x", "model": "ollama/a"}, {"name": "x", "command": ["app"]}], "target: two targets are named 'x'"),
    ],
)
def test_targets_that_cannot_be_told_apart_or_asked_are_refused(target: Any, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        target_of(target)

    assert message in str(raised.value)


def test_another_model_takes_over_the_prompts_and_what_the_models_have_in_common() -> None:
    listed = [{"model": "ollama/a", "seed": 7, "top_p": 1}, {"model": "ollama/b", "seed": 7, "top_p": 0.5}]

    assert with_model(SEVERAL, "ollama/c") == (
        {"model": "ollama/c", "temperature": 0, "prompts": SEVERAL["prompts"]},
        [],
    )
    assert with_model([*listed, {"command": ["app"]}], "ollama/c") == ({"model": "ollama/c", "seed": 7}, [])
    assert with_model({"model": "ollama/a", "name": "old"}, "ollama/c") == ("ollama/c", [])
    assert with_model({"command": ["app"], "timeout": 5}, "ollama/c") == ("ollama/c", ["command", "timeout"])


# Runs


def right(text: str) -> str:
    return text.upper()


def wrong_on_odd(text: str) -> str:
    return text.upper() if int(text.rsplit(maxsplit=1)[-1]) % 2 == 0 else "?"


def crashing(_: str) -> str:
    raise ZeroDivisionError


CASES = [Case(id=f"case-{number}", question=f"say {number}", metadata={"lang": "en"}) for number in range(8)]
SAYS = Contains(value="SAY")


def run_of(*targets: Any, cases: Any = CASES, **options: Any) -> Run:
    return evaluate(cases, SAYS, target=list(targets), store=options.pop("store", None), **options)


def test_every_target_answers_every_case() -> None:
    run = run_of({"name": "new", "python": right}, {"name": "old", "python": wrong_on_odd})

    first, second, *_ = results = list(run)
    assert len(results) == 16
    assert [first.id, second.id] == ["case-0 new", "case-0 old"]
    assert first.case.metadata == {"lang": "en", "model": "new", "test_case": "case-0"}
    assert (first.case.cluster, second.case.cluster) == ("case-0", "case-0")
    assert [result.answers[0].text for result in results[2:4]] == ["SAY 1", "?"]
    assert {name: tally.mean for name, tally in run.summary.models.items()} == {"new": 1.0, "old": 0.5}


def test_targets_are_compared_case_by_case_with_the_first() -> None:
    run = run_of(
        {"name": "new", "python": right}, {"name": "old", "python": wrong_on_odd}, {"name": "x", "python": right}
    )

    compared = run.compare_targets()

    assert compared is not None
    assert compared.baseline == "new"
    old, same = compared.others["old"].scores, compared.others["x"].scores
    assert (old.n, old.wins, old.ties, old.losses, old.difference) == (8, 0, 4, 4, -0.5)
    assert (same.ties, same.difference) == (8, 0.0)
    # The same as two of them alone, but for the correction.
    alone = compare(run, run, model_a="new", model_b="old").cases
    assert alone.scores == old
    assert compared.others["old"].p_holm == min(1.0, 2 * (old.p or 0))
    assert run.compare_targets(baseline="old", evaluator="contains").others["new"].scores.difference == 0.5  # type: ignore[union-attr]


def test_a_baseline_that_did_not_answer_is_refused_with_the_nearest_name() -> None:
    run = run_of({"name": "new", "python": right}, {"name": "old", "python": right})

    with pytest.raises(ConfigError, match="has no answers of 'nwe'; did you mean 'new'"):
        run.compare_targets(baseline="nwe")


def test_a_run_of_one_target_has_none_to_compare() -> None:
    assert evaluate(CASES, SAYS, target=right, store=None).compare_targets() is None
    assert run_of(right).compare_targets() is None


def test_a_target_that_fails_is_counted_and_compared_on_nothing() -> None:
    run = run_of({"name": "new", "python": right}, {"name": "broken", "python": crashing})

    compared = run.compare_targets()

    for kind in ("text", "md", "html"):
        assert "broken: left out: 8 without a score in the target" in run.report(kind).replace("\\", "")
    assert compared is not None
    broken = compared.others["broken"]
    assert (broken.in_common, broken.scores.n, broken.unscored_b) == (8, 0, 8)
    assert broken.scores.lacking is not None


def test_with_prompts_in_one_of_several_definitions_cases_are_named_by_their_prompts() -> None:
    listed = [{"model": "ollama/a"}, {"model": "ollama/b", "prompts": {"terse": TERSE, "kind": KIND}}]

    assert assigned_keys(listed) == ("model", "test_case", "prompt")
    assert assigned_keys(SEVERAL) == ("model", "test_case", "prompt")
    assert assigned_keys([{"model": "ollama/a"}, {"model": "ollama/b"}]) == ("model", "test_case")
    assert assigned_keys({"model": "ollama/a"}) == ()


def test_a_cluster_of_its_own_stays() -> None:
    cases = [Case(id="a", question="say 1", cluster="c"), Case(id="b", question="say 2", cluster="c")]

    assert {result.case.cluster for result in run_of(right, {"name": "old", "python": right}, cases=cases)} == {"c"}


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (Case(id="a", question="say 1", candidate_answer="So."), "case 'a': it has a candidate_answer, and the suite"),
        (
            Case(id="a", question="say 1", metadata={"model": "x"}),
            "case 'a': its metadata has the key 'model', which names",
        ),
        (Case(id="a", question="say 1", metadata={"test_case": 1}), "case 'a': its metadata has the key 'test_case'"),
    ],
)
def test_a_case_that_would_be_answered_or_named_twice_is_refused(case: Case, message: str) -> None:
    called: list[str] = []

    with pytest.raises(ConfigError) as raised:
        run_of({"name": "new", "python": called.append}, {"name": "old", "python": right}, cases=[case])

    assert str(raised.value).startswith(message)
    assert not called


def test_what_a_program_cost_only_it_knows_and_a_model_is_priced() -> None:
    attempt = Attempt(kind="reply", raw="SAY", usage=Usage(input_tokens=4000, output_tokens=0))
    model = Scripted([Reply(text="SAY", attempts=(attempt,))] * len(CASES), name="openai/gpt-5-mini")
    run = run_of({"name": "app", "python": lambda text: {"answer": text, "cost": 0.5}}, model)

    assert [result.answers[0].cost for result in list(run)[:2]] == [0.5, pytest.approx(0.001)]


# Comparing such runs with others


def test_settings_of_a_model_that_both_runs_have_must_be_the_same() -> None:
    before = {"target": [{"model": "ollama/a", "temperature": 0}, "ollama/b"]}
    after = {"target": ["ollama/c", {"model": "ollama/a", "temperature": 1}]}

    assert judging_differences(before, after) == ["target[ollama/a].temperature: 0 in A, 1 in B"]
    assert judging_differences(before, {"target": {"model": "ollama/a", "temperature": 0}}) == []
    assert judging_differences(before, {"target": "ollama/a"}) == ["target[ollama/a].temperature: 0 in A, nothing in B"]


def test_prompts_of_one_name_must_be_the_same() -> None:
    before, after = ({"target": {"model": "ollama/a", "prompts": {"terse": text}}} for text in (TERSE, KIND))

    assert len(judging_differences(before, after)) == 1
    assert judging_differences(before, before) == []


def test_a_run_of_one_target_is_compared_with_its_own_in_a_run_of_several(store_path: str) -> None:
    several = run_of({"name": "new", "python": right}, {"name": "old", "python": wrong_on_odd}, store=store_path)
    again = run_of({"name": "new", "python": right}, {"name": "old", "python": right}, store=store_path)

    both = compare(several, again)
    one = compare(several, again, model_a="old", model_b="old")

    assert both.cases.in_common == 16
    assert (one.cases.in_common, one.cases.scores.wins) == (8, 4)


@pytest.fixture
def store_path(tmp_path: Any) -> str:
    return str(tmp_path / "runs.db")


def test_singles_come_in_the_order_of_the_definition() -> None:
    assert [single.prompt for single in single_targets(SEVERAL)] == ["terse", "kind", "terse", "kind"]


def test_a_judge_sees_the_answer_and_not_who_gave_it() -> None:
    seen: list[str] = []

    def judge(case: Case) -> float:
        seen.append(case.candidate_answer or "")
        return 1.0

    evaluate(CASES[:1], judge, target=[right, {"name": "old", "python": right}], store=None)

    assert seen == ["SAY 0", "SAY 0"]


def test_a_run_of_several_targets_is_sliced_by_target_and_by_prompt() -> None:
    scripted = {"model": Scripted(["SAY"] * 8 + ["?"] * 8, name="m"), "prompts": {"terse": TERSE, "kind": KIND}}

    run = evaluate(CASES, SAYS, target=scripted, slices=["prompt", "model", "lang"], store=None, concurrency=1)

    slices = {key: {value: part.cases.n for value, part in parts.items()} for key, parts in run.summary.slices.items()}
    assert slices == {
        "prompt": {"terse": 8, "kind": 8},
        "model": {"m + terse": 8, "m + kind": 8},
        "lang": {"en": 16},
    }


def test_targets_without_prompts_give_none_to_slice_by() -> None:
    with pytest.raises(ConfigError, match="slices: no case has 'prompt' in its metadata"):
        run_of({"name": "new", "python": right}, {"name": "old", "python": wrong_on_odd}, slices=["prompt"])
    with pytest.raises(ConfigError, match="slices: no case has 'model' in its metadata"):
        evaluate(CASES, SAYS, target=right, slices=["model"], store=None)


def test_what_the_answers_of_each_target_took_is_added_up_and_the_unknown_is_no_zero() -> None:
    app = {"name": "app", "python": lambda text: {"answer": text, "cost": 0.5}}
    run = run_of(app, {"name": "program", "python": right})

    compared = run.compare_targets()
    assert compared is not None
    program = compared.took["program"]
    text = comparison_text(compared, width=200)

    assert compared.took["app"].whole_cost == 0.5 * len(CASES)
    assert (program.answers, program.priced, program.whole_cost) == (len(CASES), 0, None)
    assert program.timed == len(CASES)
    assert program.latency is not None
    assert compared.as_dict()["took"]["program"]["cost"] is None
    assert "Cost and latency of the answers" in text
    assert re.search(rf"^program +{len(CASES)} +unknown +unknown +[\d.]+ ", text, re.MULTILINE)


def test_a_latency_that_is_known_of_some_answers_says_of_how_many() -> None:
    took = Took().plus(0.5, 2.0).plus(None, None)

    assert (took.answers, took.whole_cost, took.latency, took.timed) == (2, None, 2.0, 1)
    assert Took().plus(0.5, None).plus(0.25, None).whole_cost == 0.75
    assert (Took().whole_cost, Took().latency) == (None, None)
