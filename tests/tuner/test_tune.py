"""Tuning from Python: a prompt that helps is adopted, one that does not is not, and nothing leaks."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from evenhand import Case, PromptEvaluator, Run, Tuning, add_labels, evaluate, tune
from evenhand.domain.errors import ConfigError, RunStoppedError
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.tuner.prepare import prepare
from evenhand.tuner.settings import settings_of

Messages = Sequence[Mapping[str, str]]


def verdict(passes: bool) -> str:
    return json.dumps({"score": float(passes), "hits": [], "misses": [], "reasoning": "By the rule."})


def asked(messages: Messages) -> int:
    """Return the number of the case that a judge is asked about."""
    found = re.search(r"Answer (\d+)\.", messages[-1]["content"])
    assert found is not None
    return int(found[1])


def examples_in(messages: Messages) -> list[int]:
    """Return the numbers of the cases that a judge is shown as examples."""
    return [
        int(number) for number in re.findall(r"_candidate_answer id=\"\w+\">\nAnswer (\d+)\.", messages[0]["content"])
    ]


def people_pass(number: int) -> bool:
    return number % 2 == 0


@dataclass(frozen=True)
class Labelled:
    """A run, the evaluator that judged it, and what people said of its cases."""

    run: Run
    evaluator: PromptEvaluator


@pytest.fixture
def labelled() -> Callable[..., Labelled]:
    """Make a run of ``count`` cases, judged by a function and labelled by the rule."""

    def make(
        judge: Callable[[Messages], str],
        count: int = 40,
        *,
        clusters: int = 0,
        repeats: int = 1,
        people: Callable[[int], bool] = people_pass,
    ) -> Labelled:
        evaluator = PromptEvaluator(name="quality", judge=judge)
        cases = [
            Case(
                id=f"case-{number}",
                question=f"Question {number // repeats}?",
                candidate_answer=f"Answer {number // repeats}.",
                expected_outcome="Is even",
                cluster=f"cluster-{number // 2 % clusters}" if clusters else None,
            )
            for number in range(count)
        ]
        run = evaluate(cases, evaluator, store=None)
        rows: list[dict[str, Any]] = [
            {"id": case.id, "human": "pass" if people(number) else "fail", "note": "Odd." * (not people(number))}
            for case in cases
            for number in [int((case.candidate_answer or "").split()[1][:-1])]
        ]
        add_labels(run, rows, rater="Ann")
        return Labelled(run, evaluator)

    return make


Make = Callable[..., Labelled]
RULE = "Only even answers pass."


def lenient(messages: Messages) -> str:
    """Pass everything, unless the prompt says more."""
    guided = RULE in messages[0]["content"] or examples_in(messages)
    return verdict(people_pass(asked(messages)) if guided else True)


def by_rule_alone(messages: Messages) -> str:
    """Pass everything, unless the instructions state the rule: examples do not help."""
    return verdict(people_pass(asked(messages)) if RULE in messages[0]["content"] else True)


def write_rule(messages: Messages) -> str:
    return json.dumps({"reasoning": "People fail odd ones.", "instructions": RULE})


def by_chance(messages: Messages) -> str:
    """Judge at random, but always the same prompt in the same way."""
    return verdict(random.Random(repr(messages)).random() < 0.5)


def test_examples_that_help_are_adopted(labelled: Make) -> None:
    made = labelled(lenient)

    found = tune(made.run, evaluator=made.evaluator)

    assert (found.adopted, found.way, found.by_fold) == (True, "examples", ("examples",) * 5)
    assert found.why.startswith(f"on {found.held_out} held-out cases, agreement with people changes by +0.50 [")
    assert found.held_out_change is not None
    assert found.held_out_change.better
    assert (found.honest_change.difference, found.overfit) == (0.5, 0.0)
    assert [example["verdict"] for example in found.new["examples"]] == ["fail", "pass", "fail", "pass"]
    assert found.new["examples"][0]["reasoning"] == "Odd."


def test_instructions_that_help_are_adopted_where_examples_do_not(labelled: Make) -> None:
    made = labelled(by_rule_alone)

    found = tune(made.run, evaluator=made.evaluator, model=write_rule)

    assert (found.adopted, found.way, found.new) == (True, "instructions", {"instructions": RULE})
    assert found.ways == {"examples": 0.5, "instructions": 1.0, "both": 1.0}


def test_what_does_not_help_is_not_adopted_and_the_held_out_cases_are_not_looked_at(labelled: Make) -> None:
    seen: list[tuple[int, bool]] = []

    def deaf(messages: Messages) -> str:
        seen.append((asked(messages), bool(examples_in(messages))))
        return verdict(True)

    made = labelled(deaf)

    found = tune(made.run, evaluator=made.evaluator)

    assert (found.adopted, found.held_out_change) == (False, None)
    assert "the held-out cases were not used" in found.why
    # Once in the run itself, then only the others: five times over folds, and once for what would have been proposed.
    assert Counter(Counter(number for number, _ in seen).values()) == {1: found.held_out, 7: found.open}


def test_luck_looks_better_than_it_is(labelled: Make) -> None:
    made = labelled(by_chance, 60)

    found = tune(made.run, evaluator=made.evaluator, model=write_rule, seed=3, folds=3)

    best = max(share for share in found.ways.values() if share is not None)
    assert not found.adopted
    assert found.honest.share is not None
    assert best > found.honest.share


def test_a_small_gain_is_not_adopted_and_the_report_says_what_would_be_seen(labelled: Make) -> None:
    def better_on_some(messages: Messages) -> str:
        number = asked(messages)
        return verdict(people_pass(number) if number % 10 != 3 or examples_in(messages) else True)

    made = labelled(better_on_some)

    found = tune(made.run, evaluator=made.evaluator)

    assert (found.adopted, found.ways["examples"]) == (False, 1.0)
    assert re.search(
        r"by \+0\.\d\d \[-0.*, which may be chance; so many cases show a change of 0\.\d\d or more", found.why
    )


def test_nothing_that_is_judged_was_seen_when_its_prompt_was_made(labelled: Make) -> None:
    shown: list[tuple[int, list[int]]] = []
    written: list[set[int]] = []

    def judge(messages: Messages) -> str:
        shown.append((asked(messages), examples_in(messages)))
        return lenient(messages)

    def write(messages: Messages) -> str:
        written.append({int(number) for number in re.findall(r"Answer (\d+)\.", messages[-1]["content"])})
        return write_rule(messages)

    made = labelled(judge)
    found = tune(made.run, evaluator=made.evaluator, model=write, folds=4)

    assert all(number not in examples for number, examples in shown)
    parts = parts_of(made.run, found)
    held_out = {number for number, fold in parts.items() if fold is None}
    assert len(held_out) == found.held_out > 0
    # Not one of the held-out cases was ever shown to anybody but the judge of the last prompt.
    assert all(held_out.isdisjoint(examples) for _, examples in shown)
    assert all(held_out.isdisjoint(numbers) for numbers in written)
    for result in Run.open(found.run, store=store_of(made.run)):
        part = result.case.metadata["evenhand.tune"]
        if part["part"] == "folds":
            assert parts[number_of(part["case"])] in part["without"]
            request = result.judgments[0].evaluation.evaluator_provider_request
            assert request is not None
            examples = examples_in([{"content": request["systemPrompt"]}])
            assert not {parts[number] for number in examples} & set(part["without"])


def test_the_same_labels_are_split_in_the_same_way_and_clusters_stay_together(labelled: Make) -> None:
    made = labelled(lenient, clusters=20)

    found, again = (tune(made.run, evaluator=made.evaluator, folds=3) for _ in range(2))
    parts = parts_of(made.run, found)

    assert parts == parts_of(made.run, again)
    assert len({(number // 2 % 20, fold) for number, fold in parts.items()}) == 20
    assert found.honest_change.clusters is not None
    assert again.looks == 1
    assert again.notes[-1].startswith("1 earlier look at held-out cases")


def test_a_judge_that_fails_is_no_disagreement(labelled: Make) -> None:
    def failing(messages: Messages) -> str:
        return lenient(messages) if asked(messages) % 30 or not examples_in(messages) else "no idea"

    made = labelled(failing, 60)
    found = tune(made.run, evaluator=made.evaluator)

    errors = found.honest.errors + (found.held_out_proposed.errors if found.held_out_proposed else 0)
    assert errors == 2
    assert (found.honest.share, found.adopted) == (1.0, True)


def test_a_judge_that_fails_often_is_not_adopted_for_the_rest(labelled: Make) -> None:
    def failing(messages: Messages) -> str:
        return lenient(messages) if asked(messages) % 4 or not examples_in(messages) else "no idea"

    made = labelled(failing)
    found = tune(made.run, evaluator=made.evaluator)

    assert (found.adopted, found.way) == (False, None)
    assert "failed on too many cases" in found.why


def test_a_tuning_that_reaches_its_limit_can_be_read(labelled: Make) -> None:
    made = labelled(lenient)

    with pytest.raises(RunStoppedError) as stopped:
        tune(made.run, evaluator=made.evaluator, max_calls=20)

    assert "20" in str(stopped.value)


@pytest.mark.parametrize(
    ("count", "people", "message"),
    [
        (30, people_pass, "there are 30 labelled cases; tuning takes at least 40"),
        (60, lambda number: number > 3, "people failed 4 of the 60 labelled cases; tuning takes at least 10"),
        (60, lambda _: False, "people passed 0 of the 60 labelled cases"),
    ],
)
def test_labels_that_decide_nothing_are_refused(
    labelled: Make, count: int, people: Callable[[int], bool], message: str
) -> None:
    made = labelled(lenient, count, people=people)

    with pytest.raises(ConfigError, match=message):
        tune(made.run, evaluator=made.evaluator)


def test_what_cannot_be_tuned_is_refused_by_name(labelled: Make, tmp_path: Path) -> None:
    made = labelled(lenient, 4)
    other = PromptEvaluator(name="other", judge=lenient)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "'quality' was made in Python; give it to tune"),
        ({"evaluator": other}, "defines no evaluator 'other'"),
        ({"evaluator": made.evaluator, "folds": 2}, "folds is 2; it must be a whole number from 3 to 10"),
        ({"evaluator": made.evaluator, "held_out": 1}, "held_out is 1; it must be a share from 0.1 to 0.8"),
        ({"evaluator": made.evaluator, "examples": 1}, "examples is 1; it must be a whole number from 2 to 20"),
        ({"evaluator": made.evaluator, "labels": [1]}, "labels must be the path of a CSV file, not list"),
    ]

    for options, message in wrong:
        with pytest.raises(ConfigError, match=re.escape(message)):
            tune(made.run, **options)


def test_an_evaluator_without_a_prompt_is_refused_by_its_type() -> None:
    cases = [Case(id=f"case-{number}", candidate_answer="So.", expected_outcome="Says so") for number in range(2)]
    judges = [{"name": name, "type": "llm_judge", "judge": "recorded/none"} for name in ("strict", "kind")]
    checks = [{"name": "exact", "type": "contains", "value": "So"}]

    exact = evaluate(cases, checks, store=None)
    several = replace(exact.record, definition={"evaluators": [*judges, *checks]})

    refused: list[tuple[RunRecord, dict[str, Any], str]] = [
        (exact.record, {}, "has 0 llm_judge evaluators; name the one to tune, it has: exact"),
        (exact.record, {"evaluator": "exact"}, "'exact' is of type contains, which has no prompt to tune"),
        (several, {}, "has 2 llm_judge evaluators; name the one to tune, it has: strict, kind, exact"),
        (replace(several, definition={"profiles": {"mode": "scoring"}}), {}, "is of profiles"),
        (replace(several, status=RunStatus.STOPPED), {}, "is not finished; complete it with: evenhand resume"),
    ]
    for record, options, message in refused:
        with exact.opened_store() as store, pytest.raises(ConfigError, match=message):
            prepare(store, record, **options)


def test_labels_that_do_not_count_are_named(labelled: Make) -> None:
    made = labelled(lenient, 45)
    stale = [replace(label, answer="h0") for label in made.run.labels[:5]]
    elsewhere = [replace(label, evaluator="other") for label in made.run.labels[5:10]]

    with made.run.opened_store() as store:
        given = [*stale, *made.run.labels[5:]]
        cases = prepare(store, made.run.record, given, evaluator=made.evaluator).settings
        with pytest.raises(ConfigError) as refused:
            prepare(store, made.run.record, [*stale, *elsewhere], evaluator=made.evaluator)

    assert len(cases.cases) == 40
    assert "5 labels are of answers that the run does not have any more, and do not count" in cases.notes
    assert "there are 0 labelled cases (not counted: 5 of answers that the run does not have any more" in str(
        refused.value
    )


@pytest.mark.parametrize(
    "tuning", [{}, {"cases": 3, "notes": [], "run": "x"}, {"cases": [{"id": 1}], "notes": [], "run": "x"}, {"a": 1}]
)
def test_what_only_claims_to_be_a_tuning_is_refused(tuning: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="says that it tunes a prompt, and not how"):
        settings_of({"tune": tuning})


def test_cases_with_the_same_texts_stay_together(labelled: Make) -> None:
    made = labelled(lenient, repeats=2)

    parts = parts_of(made.run, tune(made.run, evaluator=made.evaluator, folds=3))

    assert all(parts[number] == parts[number + 1] for number in range(0, 40, 2))


def test_labels_of_a_file_are_used_and_not_stored(labelled: Make, tmp_path: Path) -> None:
    made = labelled(lenient)
    path = tmp_path / "labels.csv"
    # Somebody who says the contrary of Ann: what follows her rule agrees with nothing here.
    rows = [f"case-{number},{'fail' if people_pass(number) else 'pass'}" for number in range(40)]
    path.write_text("\n".join(["id,human", *rows]), encoding="utf-8")

    found = tune(made.run, path, evaluator=made.evaluator, rater="Bob")

    assert (found.adopted, found.ways) == (False, {"examples": 0.0})
    assert {label.rater for label in made.run.labels} == {"Ann"}
    assert add_labels(made.run, path, rater="Bob").new == 40


def parts_of(run: Run, found: Tuning) -> dict[int, int | None]:
    tuned = Run.open(found.run, store=store_of(run)).record.definition["tune"]
    return {number_of(case["id"]): case["fold"] for case in tuned["cases"]}


def number_of(case: str) -> int:
    return int(case.removeprefix("case-"))


def store_of(run: Run) -> Any:
    with run.opened_store() as store:
        return store
