"""From definitions to evaluators: the suite's judge, a case's own evaluators, and what was stored of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from evenhand import registry
from evenhand.domain.ask import Steps
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, MissingKeyError
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.json_codec import case_from, case_to
from evenhand.domain.run import PlannedCase
from evenhand.domain.verdict import Thresholds
from evenhand.evaluators.base import BaseEvaluator
from evenhand.suites.definition import Definition
from evenhand.suites.evaluators import takes_judge
from evenhand.suites.suite import Suite, check, read_suite

Read: TypeAlias = Callable[..., Suite]

PLAIN = PlannedCase(position=0, case=Case(id="a", candidate_answer="x"))


def judges(definition: dict[str, Any], planned: PlannedCase = PLAIN) -> dict[str, str | None]:
    """Return the name of each evaluator's judge."""
    made = Definition(definition).evaluators_for(planned)
    return {one.name: getattr(getattr(one, "judge", None), "name", None) for one in made}


def test_the_judge_of_the_suite_goes_to_whoever_takes_one_and_has_none() -> None:
    definition = {
        "judge": "ollama/usual",
        "evaluators": [
            {"type": "llm_judge"},
            {"name": "own", "type": "llm_judge", "judge": {"model": "ollama/own", "temperature": 0}},
            {"name": "old", "type": "rubric", "rubrics": ["x"]},
            {"type": "contains"},
        ],
    }

    assert judges(definition) == {
        "llm_judge": "ollama/usual",
        "own": "ollama/own",
        "old": "ollama/usual",
        "contains": None,
    }


def ambiguous(definition: dict[str, Any]) -> dict[str, str]:
    made = Definition({"judge": "ollama/usual", **definition}).evaluators_for(PLAIN)
    return {one.name: getattr(one, "ambiguous", "") for one in made}


def test_the_suite_says_which_of_several_verdicts_counts_where_an_evaluator_does_not() -> None:
    evaluators = [
        {"type": "llm_judge"},
        {"name": "own", "type": "llm_judge", "ambiguous": "first"},
        {"name": "old", "type": "llm_judge", "strict": True},
        {"name": "old lenient", "type": "rubric", "rubrics": ["x"], "strict": False},
        {"type": "pairwise"},
        {"type": "contains"},
    ]
    usual = {"llm_judge": "first", "own": "first", "old": "ask_again", "old lenient": "first", "pairwise": "ask_again"}

    assert ambiguous({"evaluators": evaluators}) == {**usual, "contains": ""}
    assert ambiguous({"evaluators": evaluators, "ambiguous": "last"}) == {
        **usual,
        "llm_judge": "last",
        "pairwise": "last",
        "contains": "",
    }


def test_what_the_suite_says_goes_into_composites() -> None:
    team = {"type": "composite", "members": [{"type": "llm_judge"}, {"type": "contains"}], "aggregator": "llm_judge"}

    (made,) = Definition({"judge": "ollama/usual", "ambiguous": "ask_again", "evaluators": [team]}).evaluators_for(
        PLAIN
    )

    assert made.members[0].ambiguous == "ask_again"  # type: ignore[attr-defined]
    assert made.aggregator.judge.ambiguous == "ask_again"  # type: ignore[attr-defined]


@pytest.mark.parametrize("aggregator", ["llm_judge", {"type": "llm_judge"}, {"type": "llm_judge", "judge": None}])
def test_the_judge_of_the_suite_goes_into_composites(aggregator: Any) -> None:
    inner = {"type": "composite", "members": [{"type": "rubric", "rubrics": ["x"]}, {"type": "contains"}]}
    outer = {"type": "composite", "members": [inner, {"type": "llm_judge"}], "aggregator": aggregator}

    (made,) = Definition({"judge": "ollama/usual", "evaluators": [outer]}).evaluators_for(PLAIN)

    team: Any = made
    assert team.members[0].members[0].judge.name == "ollama/usual"
    assert team.members[1].judge.name == "ollama/usual"
    assert team.aggregator.judge.judge.name == "ollama/usual"


def test_a_meta_judge_keeps_its_own_judge() -> None:
    composite = {
        "type": "composite",
        "members": [{"type": "contains"}],
        "aggregator": {"type": "llm_judge", "judge": "ollama/meta"},
    }

    (made,) = Definition({"judge": "ollama/usual", "evaluators": [composite]}).evaluators_for(PLAIN)

    team: Any = made
    assert team.aggregator.judge.judge.name == "ollama/meta"


class Asking(BaseEvaluator):
    """Somebody's evaluator, which takes a judge."""

    type = "asking"

    def __init__(self, *, judge: object, name: str = "", depth: int = 1) -> None:
        if depth < 0:
            raise ConfigError("depth must not be negative", key="depth")
        if depth < 1:
            raise ValueError(f"depth must not be {depth}")
        super().__init__(name=name)
        object.__setattr__(self, "judge", judge)

    def steps(self, case: Case) -> Steps[Evaluation]:
        yield from ()
        return self.scored(1.0)


@pytest.fixture
def types_of_others(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Register an evaluator as an installed package would."""

    class Point:
        name = "asking"

        def load(self) -> type:
            return Asking

    known = registry.points
    monkeypatch.setattr(
        registry,
        "points",
        lambda group: {**known(group), "asking": Point()} if group == registry.EVALUATORS else known(group),
    )
    takes_judge.cache_clear()
    yield
    takes_judge.cache_clear()


@pytest.mark.usefixtures("types_of_others")
def test_types_of_others_get_the_judge_as_well() -> None:
    Path("suite.yaml").write_text(
        "judge: ollama/usual\nevaluators: [{type: asking}]\ncases: [{id: a}]\n", encoding="utf-8"
    )

    assert check("suite.yaml").problems == ()
    assert judges({"judge": "ollama/usual", "evaluators": [{"type": "asking"}]}) == {"asking": "ollama/usual"}


@pytest.mark.usefixtures("types_of_others")
def test_what_types_of_others_refuse_is_a_mistake() -> None:
    Path("suite.yaml").write_text("evaluators:\n- type: asking\n  depth: 0\ncases: [{id: a}]\n", encoding="utf-8")

    assert check("suite.yaml").problems == ("suite.yaml:2: evaluator 'asking' (asking): depth must not be 0",)


@pytest.mark.usefixtures("types_of_others")
def test_types_of_others_can_say_which_key_is_wrong() -> None:
    Path("suite.yaml").write_text("evaluators:\n- type: asking\n  depth: -1\ncases: [{id: a}]\n", encoding="utf-8")

    assert check("suite.yaml").problems == ("suite.yaml:3: depth must not be negative",)


def test_without_a_judge_one_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    definition = {"evaluators": [{"type": "llm_judge"}]}

    with pytest.raises(ConfigError, match=r"^no judge: write one into the suite, .* or set EVENHAND_JUDGE$"):
        judges(definition)
    monkeypatch.setenv("EVENHAND_JUDGE", "ollama/of-the-environment")
    assert judges(definition) == {"llm_judge": "ollama/of-the-environment"}
    monkeypatch.setenv("EVENHAND_JUDGE", "olama/x")
    with pytest.raises(ConfigError, match=r"EVENHAND_JUDGE: no model provider 'olama'"):
        judges(definition)


def test_keys_are_needed_when_evaluators_are_made_and_not_before(suite: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    read = suite(
        "judge: {model: openai/x, api_key: '${TEAM_KEY}'}\nevaluators: [{type: llm_judge}]\ncases: [{id: a}]\n"
    )
    (planned,) = read.cases()

    with pytest.raises(MissingKeyError, match="TEAM_KEY"):
        read.evaluators_for(planned)
    monkeypatch.setenv("TEAM_KEY", "sk-123")
    assert len(read.evaluators_for(planned)) == 1
    assert "sk-123" not in json.dumps(read.definition)


def test_the_command_replaces_judge_and_target(suite: Read) -> None:
    text = "judge: opnai/wrong\ntarget: opnai/wrong\nevaluators: [{type: llm_judge}]\ncases: [{id: a}]\n"

    read = suite(text, judge="ollama/given", target={"command": ["app"]})

    assert read.definition["judge"] == "ollama/given"
    assert read.definition["target"] == {"command": ["app"]}
    (evaluator,) = read.evaluators_for(PLAIN)
    assert getattr(evaluator, "judge").name == "ollama/given"  # noqa: B009 - an Evaluator need not have one


def names(suite: Suite) -> list[list[str]]:
    return [[one.name for one in suite.evaluators_for(planned)] for planned in suite.cases()]


def test_the_evaluators_of_a_case_replace_those_of_the_suite(suite: Read) -> None:
    read = suite(
        "evaluators: [{name: first, type: contains}, {name: second, type: equals, strip: true}]\n"
        "cases:\n"
        "- {id: a}\n"
        "- {id: b, evaluators: [second]}\n"
        "- {id: c, evaluators: [{type: is_json}, first]}\n"
        "- {id: d, evaluators: null}\n"
    )

    assert names(read) == [["first", "second"], ["second"], ["is_json", "first"], ["first", "second"]]
    assert [planned.evaluators for planned in read.cases()] == [
        None,
        ({"name": "second", "type": "equals", "strip": True},),
        ({"type": "is_json"}, {"name": "first", "type": "contains"}),
        None,
    ]


@pytest.mark.parametrize(
    ("evaluators", "expected"),
    [
        ("[{name: q, type: llm_judge}]", ["q"]),
        ("[{name: q, type: llm_judge}, {type: contains}]", ["q", "contains"]),
        ("[{name: q, type: rubric, rubrics: [y]}]", ["q"]),
        ("[{name: team, type: composite, members: [{type: llm_judge}]}]", ["team"]),
        ("[{type: contains}]", ["contains", "rubric"]),
        ("[{name: team, type: composite, members: [{type: contains}], aggregator: llm_judge}]", ["team", "rubric"]),
    ],
)
def test_the_rubrics_of_a_case_go_to_its_judges_or_to_one_of_their_own(
    suite: Read, evaluators: str, expected: list[str]
) -> None:
    text = f"judge: ollama/usual\nevaluators: {evaluators}\ncases:\n- {{id: a, rubrics: [Is kind]}}\n- {{id: b}}\n"

    with_rubrics, without = names(suite(text))

    assert with_rubrics == expected
    assert "rubric" not in without


def test_rubrics_alone_are_enough(suite: Read) -> None:
    read = suite("judge: ollama/usual\ncases:\n- {id: a, rubrics: [Is kind, {id: x, description: Is brief}]}\n")

    (planned,) = read.cases()
    (evaluator,) = read.evaluators_for(planned)

    assert (evaluator.name, evaluator.type) == ("rubric", "llm_judge")
    assert getattr(evaluator, "judge").name == "ollama/usual"  # noqa: B009 - an Evaluator need not have one


def test_equal_definitions_make_one_evaluator_and_equal_judges_one_client(suite: Read) -> None:
    read = suite(
        "evaluators: [{type: llm_judge, judge: {model: ollama/x}}]\n"
        "cases:\n"
        "- {id: a}\n"
        "- {id: b, evaluators: [{judge: {model: ollama/x}, type: llm_judge}]}\n"
        "- {id: c, evaluators: [{type: llm_judge, judge: {model: ollama/x}, weight: 2}]}\n"
    )

    (first,), (second,), (third,) = [read.evaluators_for(planned) for planned in read.cases()]

    made: Any = (first, second, third)
    assert made[0] is made[1]
    assert made[2] is not made[1]
    assert made[2].judge is made[1].judge


def test_very_many_different_definitions_are_not_all_kept() -> None:
    definition = Definition({})
    cases = [
        PlannedCase(position=n, case=Case(id=str(n)), evaluators=({"type": "contains", "value": str(n)},))
        for n in range(1000)
    ]

    made = [definition.evaluators_for(planned)[0] for planned in cases]

    assert definition.evaluators_for(cases[-1])[0] is made[-1]
    assert definition.evaluators_for(cases[0])[0] is not made[0]


def test_programs_run_in_the_folder_of_the_suite(folder: Path) -> None:
    (folder / "evals").mkdir()
    program = {"type": "code_judge", "command": ["judge"]}
    evaluators = [
        program,
        {**program, "name": "in", "cwd": "inner"},
        {**program, "name": "elsewhere", "cwd": str(folder)},
        {"type": "composite", "members": [program], "aggregator": {"type": "code_judge", "command": ["judge"]}},
    ]
    suite = {"evaluators": evaluators, "cases": [{"id": "a"}]}
    (folder / "evals" / "suite.json").write_text(json.dumps(suite), encoding="utf-8")

    read = read_suite("evals/suite.json")
    made: Any = read.evaluators_for(PLAIN)

    there = folder / "evals"
    assert read.folder == str(there)
    assert [Path(one.cwd) for one in made[:3]] == [there, there / "inner", folder]
    assert Path(made[3].members[0].cwd) == there
    assert Path(made[3].aggregator.judge.cwd) == there
    assert read.definition["evaluators"] == evaluators


def test_a_file_of_certificates_is_seen_from_the_folder_of_the_suite(folder: Path) -> None:
    (folder / "evals").mkdir()
    text = "judge: {model: openai/x, api_key: '${PATH}', ca_file: missing.pem}\nevaluators: [{type: contains}]\n"
    (folder / "evals" / "suite.yaml").write_text(f"{text}cases: [{{id: a}}]\n", encoding="utf-8")

    with pytest.raises(ConfigError) as raised:
        read_suite("evals/suite.yaml")

    assert str(folder / "evals" / "missing.pem") in str(raised.value)


def test_what_was_stored_judges_like_the_file_that_is_gone(suite: Read) -> None:
    read = suite(
        "judge: ollama/usual\n"
        "thresholds: {pass: 0.9}\n"
        "gates: {min_mean: 0.5}\n"
        "prices: {ollama/usual: {input: 1, output: 2}}\n"
        "timeout: 30\nconcurrency: 4\nrepeat: 2\n"
        "evaluators: [{name: q, type: llm_judge}]\n"
        "cases:\n"
        "- {id: a, rubrics: [{id: tone, description: x, score_ranges: {0: bad, 5: good}}]}\n"
        "- {id: b, evaluators: [q, {type: code_judge, command: [judge]}]}\n"
    )
    stored = json.loads(json.dumps([{"case": case_to(one.case), "evaluators": one.evaluators} for one in read.cases()]))
    definition = Definition(json.loads(json.dumps(read.definition)), source=read.source)
    expected = [read.evaluators_for(planned) for planned in read.cases()]
    Path("suite.yaml").unlink()

    cases = [
        PlannedCase(
            position=place,
            case=case_from(one["case"]),
            evaluators=None if one["evaluators"] is None else tuple(one["evaluators"]),
        )
        for place, one in enumerate(stored)
    ]
    found = [definition.evaluators_for(planned) for planned in cases]

    assert [[repr(one) for one in some] for some in found] == [[repr(one) for one in some] for some in expected]
    assert definition.thresholds == Thresholds(pass_at=0.9)
    assert definition.gates == read.gates
    price = definition.prices.price_of("ollama/usual")
    assert price is not None
    assert price.output == 2
    assert (definition.timeout, definition.concurrency, definition.repeat) == (30, 4, 2)
    assert definition.target() is None


def test_a_target_that_is_a_program_runs_in_the_folder_of_the_suite(suite: Read, folder: Path) -> None:
    read = suite("target: {command: [app]}\nevaluators: [{type: contains}]\ncases: [{id: a}]\n")

    target: Any = read.built.target()

    assert Path(target.program.cwd) == folder


def test_a_program_that_judges_finds_the_variables_it_was_promised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEAM_KEY", "sk-of-the-team")
    code = "import os; print('{\"score\": 1, \"reasoning\": \"' + os.environ['KEY'] + ' ' + os.environ['MODE'] + '\"}')"
    suite = tmp_path / "suite.yaml"
    suite.write_text(
        json.dumps(
            {
                "evaluators": [
                    {
                        "type": "code_judge",
                        "command": [sys.executable, "-c", code],
                        "env": {"KEY": "${TEAM_KEY}", "MODE": "fast"},
                    }
                ],
                "cases": [{"id": "a", "candidate_answer": "x"}],
            }
        )
    )

    (evaluator,) = read_suite(suite).evaluators_for(next(iter(read_suite(suite).cases())))

    assert evaluator.evaluate(Case(candidate_answer="x")).reasoning == "*** fast"  # type: ignore[attr-defined]
