"""What would only come up during a run that costs money is found before it, and all of it at once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from evenhand import evaluate
from evenhand.domain.errors import ConfigError
from evenhand.engine.job import Job
from evenhand.store.store import open_store
from evenhand.suites.from_python import job_from
from evenhand.suites.suite import check, read_suite

Mistakes: TypeAlias = Callable[..., list[str]]

HEAD = "evaluators: [{name: panel, type: contains}]\n"
CASES = "cases:\n- {id: a, output: x}\n"
# A field of which a judge decides whether it is right.
SUMMARY = "{path: summary, match: judge, rubric: Says the same}"


@pytest.fixture(autouse=True)
def no_judge_around(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no judge and no key in the environment."""
    for name in ("EVENHAND_JUDGE", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("{role: user, contnt: typo}", "; for 'contnt', did you mean 'content'?"),
        ("{rol: user, content: x}", "; for 'rol', did you mean 'role'?"),
        ("{role: usr, content: x}", "input: no role 'usr'; did you mean 'user'?"),
        ("{role: user, content: null, name: Ann}", "got {'role': 'user', 'content': None, 'name': 'Ann'}"),
    ],
)
def test_a_message_that_says_nothing_or_comes_from_nobody_is_a_mistake(
    mistakes: Mistakes, message: str, told: str
) -> None:
    (found,) = mistakes(f"{HEAD}cases:\n- id: a\n  input:\n  - {{role: user, content: hi}}\n  - {message}\n")

    assert found.startswith('suite.yaml:6, case "a": input: ')
    assert found.endswith(told)


@pytest.mark.parametrize("key", ["tool_calls", "function_call", "refusal"])
def test_a_message_may_have_a_call_in_place_of_content(mistakes: Mistakes, key: str) -> None:
    assert mistakes(f"{HEAD}cases: [{{id: a, input: [{{role: assistant, {key}: [{{name: x}}]}}]}}]\n") == []


def test_of_a_judge_every_mistake_is_told_and_the_key_never(mistakes: Mistakes) -> None:
    found = mistakes(f"judge: {{model: opnai/x, temprature: 0, max_tokns: 5, api_key: sk-abc}}\n{HEAD}{CASES}")

    assert sorted(found) == [
        "suite.yaml:1: api_key is written out; keys belong in the environment: write api_key: ${NAME}",
        "suite.yaml:1: judge: no model provider 'opnai'; did you mean 'openai'?",
        "suite.yaml:1: judge: openai/x: no setting 'max_tokns'; did you mean 'max_tokens'?",
        "suite.yaml:1: judge: openai/x: no setting 'temprature'; did you mean 'temperature'?",
    ]
    assert check("suite.yaml").notes == ()


def test_of_gates_every_mistake_is_told_at_its_line(mistakes: Mistakes) -> None:
    gates = (
        "gates:\n  min_meen: 1\n  max_failed: many\n  evaluators:\n    panel:\n      min_mean: 7\n      max_faild: 1\n"
    )

    found = mistakes(gates + HEAD + CASES)

    assert [one.partition("; ")[0] for one in found] == [
        "suite.yaml:2: gates: no gate 'min_meen'",
        "suite.yaml:3: gates: max_failed is 'many'",
        "suite.yaml:6: gates: evaluators: panel: min_mean is 7",
        "suite.yaml:7: gates: evaluators: panel: no gate 'max_faild'",
    ]


def test_of_an_evaluator_every_mistake_is_told_and_none_that_follows_from_another(mistakes: Mistakes) -> None:
    found = mistakes(f"evaluators: [{{type: regex, vlaue: x, weigth: 2}}]\n{CASES}")

    assert [one.partition("): ")[2] for one in found] == [
        "no option 'vlaue'; did you mean 'value'?",
        "no option 'weigth'; did you mean 'weight'?",
    ]


def test_of_a_judge_that_a_program_gives_the_key_is_not_told() -> None:
    Path("suite.yaml").write_text(HEAD + CASES, "utf-8")

    with pytest.raises(ConfigError, match=r"^api_key is written out") as raised:
        read_suite("suite.yaml", judge={"model": "openai/x", "api_key": "sk-abc", "temprature": 0})

    assert "sk-abc" not in str(raised.value)


def test_thresholds_that_do_not_fit_together_are_one_mistake(mistakes: Mistakes) -> None:
    assert len(mistakes(f"thresholds: {{pass: 2, borderline: 0.5}}\n{HEAD}{CASES}")) == 1


def test_an_id_that_stands_twice_is_found_beside_another_mistake(mistakes: Mistakes) -> None:
    found = mistakes(f"{HEAD}{CASES}- {{id: a, ouput: x}}\n")

    assert found == [
        'suite.yaml:4, case "a": duplicate id, first in line 3; ids must differ',
        "suite.yaml:4, case \"a\": no key 'ouput'; did you mean 'output'?",
    ]


def test_a_gate_on_an_evaluator_that_nobody_has_stops_the_run(mistakes: Mistakes) -> None:
    text = f"gates:\n  evaluators:\n    pannel: {{min_mean: 1}}\n{HEAD}{CASES}"
    told = "suite.yaml:3: gates: evaluators: no evaluator has the name 'pannel'; did you mean 'panel'?"

    assert mistakes(text) == [told]
    with pytest.raises(ConfigError) as raised:
        list(read_suite("suite.yaml").cases())
    assert str(raised.value) == told


@pytest.mark.parametrize("case", ["evaluators: [{name: pannel, type: equals}]", "rubrics: [x]"])
def test_a_gate_may_be_about_an_evaluator_of_a_case(mistakes: Mistakes, case: str) -> None:
    name = "rubric" if "rubrics" in case else "pannel"

    assert mistakes(f"gates: {{evaluators: {{{name}: {{min_mean: 1}}}}}}\n{HEAD}{CASES}- {{id: b, {case}}}\n") == []


def test_gates_that_a_program_replaces_are_not_held_against_the_suite() -> None:
    Path("suite.yaml").write_text(f"gates: {{evaluators: {{pannel: {{min_mean: 1}}}}}}\n{HEAD}{CASES}", "utf-8")

    job: Job = job_from(read_suite("suite.yaml"), gates={"min_mean": 0.5})

    assert [one.case.id for one in job.cases()] == ["a"]


@pytest.mark.parametrize(
    ("evaluators", "case", "noted"),
    [
        ("[{type: llm_judge}]", "", True),
        ("[{type: composite, members: [{type: llm_judge}]}]", "", True),
        ("[{type: composite, members: [{type: contains}], aggregator: {type: llm_judge}}]", "", True),
        ("[{type: contains}]", ", rubrics: [x]", True),
        ("[{type: contains}]", ", evaluators: [{type: llm_judge}]", True),
        ("[{type: contains}]", "", False),
        ("[{type: llm_judge, judge: ollama/x}]", "", False),
        (f"[{{type: field_accuracy, fields: [id, {SUMMARY}]}}]", "", True),
        (f"[{{type: composite, members: [{{type: field_accuracy, fields: [{SUMMARY}]}}]}}]", "", True),
        (f"[{{type: field_accuracy, fields: [{SUMMARY}], judge: ollama/x}}]", "", False),
        ("[{type: field_accuracy, fields: [id, {path: summary, match: text}]}]", "", False),
    ],
)
def test_that_there_is_no_judge_is_noted(evaluators: str, case: str, *, noted: bool) -> None:
    Path("suite.yaml").write_text(f"evaluators: {evaluators}\ncases: [{{id: a, output: x{case}}}]\n", "utf-8")

    checked = check("suite.yaml")

    assert checked.problems == ()
    assert [one.partition(", such")[0] for one in checked.notes] == (
        ["suite.yaml: no judge: write one into the suite"] if noted else []
    )


def test_fields_that_a_judge_decides_are_not_scored_without_one() -> None:
    Path("suite.yaml").write_text(
        f"evaluators: [{{type: field_accuracy, fields: [id, {SUMMARY}]}}]\n"
        """cases: [{id: a, output: '{"id": 1, "summary": "x"}', reference_answer: '{"id": 1, "summary": "y"}'}]\n""",
        "utf-8",
    )

    with pytest.raises(ConfigError, match="no judge: write one into the suite"):
        evaluate("suite.yaml", store="evenhand.db")

    with contextlib.closing(open_store("evenhand.db")) as store:
        assert store.runs.newest() == []


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ("{path: summary, rubric: Says the same}", "field 1 (summary): rubric is for match: judge"),
        ("{path: summary, match: judge}", "field 1 (summary): match judge and rubric go together"),
    ],
)
def test_a_rubric_of_a_field_and_the_match_that_asks_for_it_go_together(
    mistakes: Mistakes, field: str, told: str
) -> None:
    (found,) = mistakes(f"judge: ollama/x\nevaluators:\n- {{type: field_accuracy, fields: [{field}]}}\n{CASES}")

    assert found.startswith(f"suite.yaml:3: field_accuracy: {told}")


def test_a_judge_in_the_environment_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_JUDGE", "ollama/x")
    Path("suite.yaml").write_text(f"evaluators: [{{type: llm_judge}}]\n{CASES}", "utf-8")

    assert check("suite.yaml").notes == ()


def test_a_name_in_the_targets_prompt_must_be_in_the_metadata_of_what_it_answers(mistakes: Mistakes) -> None:
    target = "target: {model: ollama/x, prompt: '{{ context }}: {{ input }}'}\n"
    cases = "- {id: b, input: q, metadata: {contxt: c}}\n- {id: c, input: q, metadata: {context: c}}\n"

    (found,) = mistakes(f"{target}{HEAD}{CASES}{cases}")

    assert found.startswith("suite.yaml:5, case \"b\": target: the prompt uses 'context', which the case does not have")
    assert found.endswith("; did you mean 'contxt'?")


def test_a_targets_prompt_may_use_the_context_and_the_metadata_by_its_name(mistakes: Mistakes) -> None:
    target = "target: {model: ollama/x, prompt: '{{ context }}: {{ metadata.city }}'}\n"
    cases = "- {id: b, context: c, metadata: {city: Graz}}\n- {id: c, context: [c], metadata: {city: null}}\n"

    (found,) = mistakes(f"{target}{HEAD}{CASES}{cases}")

    assert found == (
        "suite.yaml:6, case \"c\": target: the prompt uses 'metadata.city', which is not in the metadata; "
        "did you mean 'city'?"
    )


def test_cases_that_lack_what_a_template_uses_are_counted() -> None:
    template = "'{{ candidate_answer }} {{ context }} {{ metadata.city }}'"
    evaluators = (
        f"evaluators: [{{type: composite, name: both, members: [{{type: llm_judge, template: {template}}}]}}]\n"
    )
    cases = "cases:\n- {id: a, output: x}\n- {id: b, output: x, context: c}\n- {id: c, output: x, context: ''}\n"
    Path("suite.yaml").write_text(f"judge: ollama/x\n{evaluators}{cases}", "utf-8")
    suite = read_suite("suite.yaml")

    list(suite.cases())

    assert suite.notes == [
        "2 cases have no context, which evaluator 'both' uses: it will not evaluate them; the first is \"a\"",
        "3 cases have no metadata.city, which evaluator 'both' uses: it will not evaluate them; the first is \"a\"",
    ]


def test_cases_of_which_no_evaluator_counts_are_counted() -> None:
    shown = "{name: shown, type: contains, value: x, weight: 0}"
    cases = "cases:\n- {id: a, output: x}\n- {id: b, output: x, evaluators: [{type: contains, value: x}]}\n"
    cases += f"- {{id: c, output: x, evaluators: [{shown}]}}\n"
    notes = []
    for usual in (f"[{shown}]", f"[{shown}, {{type: is_json, weight: 0, required: true}}]"):
        Path("suite.yaml").write_text(f"evaluators: {usual}\n{cases}", "utf-8")
        suite = read_suite("suite.yaml")
        list(suite.cases())
        notes.append(suite.notes)

    assert notes == [
        ['2 cases have no evaluator that counts, since all have weight 0: they have no score; the first is "a"'],
        ['1 case has no evaluator that counts, since all have weight 0: it has no score; it is "c"'],
    ]


def test_a_prompt_is_checked_without_the_models_key(mistakes: Mistakes) -> None:
    (found,) = mistakes(f"target: {{model: openai/x, prompt: always the same}}\n{HEAD}{CASES}")

    assert found.startswith("suite.yaml:1: target: the prompt must use {{ input }}")


def test_cases_without_an_answer_are_counted_where_nothing_makes_one() -> None:
    Path("suite.yaml").write_text(f"{HEAD}{CASES}- {{id: b}}\n- {{id: c}}\n", "utf-8")
    suite = read_suite("suite.yaml")

    before = suite.notes
    list(suite.cases())
    after = suite.notes
    list(suite.cases(own_answers=False))

    assert before == suite.notes == []
    assert after == [
        '2 cases have no answer, and there is no target to generate one: they will not be evaluated; the first is "b"'
    ]
    assert list(read_suite("suite.yaml", target="ollama/x").cases())


def test_a_jury_is_told_what_it_is_called_here(mistakes: Mistakes) -> None:
    assert mistakes(f"evaluators: [{{type: jury}}]\n{CASES}") == [
        "suite.yaml:1: no evaluator type 'jury'; a jury is a composite whose members are llm_judge evaluators"
    ]


# A key that is missing


@pytest.mark.parametrize(("kind", "asked"), [("llm_judge", True), ("contains", False)])
def test_a_missing_key_is_told_by_the_flag_that_wants_it_and_only_if_the_judge_is_asked(kind: str, asked: bool) -> None:
    Path("suite.yaml").write_text(f"evaluators: [{{type: {kind}}}]\n{CASES}")
    suite = read_suite("suite.yaml", judge="openai/x", called={"judge": "--judge"})

    before = suite.notes
    list(suite.cases())

    assert before == ["--judge: openai/x needs an API key: set OPENAI_API_KEY, or give api_key"]
    assert suite.notes == (before if asked else [])


def test_a_key_that_an_evaluator_lacks_too_is_told_once_also_where_the_suites_judge_is_not_asked() -> None:
    own = "evaluators:\n- {type: llm_judge, judge: openai/x}\n"
    Path("suite.yaml").write_text(f"judge: openai/x\n{own}{CASES}")
    suite = read_suite("suite.yaml")

    before = suite.notes
    list(suite.cases())

    needs = "judge: openai/x needs an API key: set OPENAI_API_KEY, or give api_key"
    assert (before, suite.notes) == ([f"suite.yaml:1: {needs}"], [f"suite.yaml:3: {needs}"])
