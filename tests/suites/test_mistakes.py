"""Every mistake names file, line, case, and what would be right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from evenhand.domain.errors import ConfigError
from evenhand.suites.suite import MOST_PROBLEMS, check, problems, read_suite

Mistakes: TypeAlias = Callable[..., list[str]]

CASE = "cases: [{id: a}]\n"


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("evalutors: []", "suite.yaml:3: no key 'evalutors'; did you mean 'evaluators'?"),
        ("providers: [openai/x]", "suite.yaml:3: no key 'providers'; it is called 'target' here"),
        ("trust: {min_kapa_low: 0.4}", "suite.yaml:3: trust: no key 'min_kapa_low'; did you mean 'min_kappa_low'?; there are labels, evaluator, min_agreement_low, min_kappa_low, min_sensitivity_low, min_specificity_low, max_drop"),
        ("trust: {min_kappa_low: 4}", "suite.yaml:3: trust: min_kappa_low is 4; it must be a number from -1 to 1"),
        ("zzz: 1", "suite.yaml:3: no key 'zzz'; known: ambiguous, cases, columns, concurrency, description, evalcases, evaluators, gates, judge, metadata, name, prices, repeat, slices, target, tests, thresholds, timeout, trust"),
        ("name: 5", "suite.yaml:3: name must be text, not a number; write it in quotes"),
        ("description: [a]", "suite.yaml:3: description must be text, not a list"),
        ("judge: 5", "suite.yaml:3: judge must be a name such as openai/gpt-5-mini, or a mapping with model, not a number"),
        ("judge: gpt-5", "suite.yaml:3: judge: model 'gpt-5' names no provider; write 'openai/gpt-5'"),
        ("judge: opnai/x", "suite.yaml:3: judge: no model provider 'opnai'; did you mean 'openai'?"),
        ("judge:\n  model: openai/x\n  temperatur: 1", "suite.yaml:5: judge: openai/x: no setting 'temperatur'; did you mean 'temperature'?"),
        ("judge:\n  model: openai/x\n  temperature: hot", "suite.yaml:5: judge: openai/x: temperature is 'hot'; it must be a finite number, 0 or more"),
        ("judge: {temperature: 1}", "suite.yaml:3: judge: a judge given as a mapping needs a 'model', such as 'openai/gpt-5-mini'"),
        ("target: 5", "suite.yaml:3: target must be the name of a model, a mapping with model, command or python, or a list of these, not a number"),
        ("target: {promt: x}", "suite.yaml:3: target: it needs one of model, models, command, python; it has promt; known: command, model, models, python"),
        ("target: {model: openai/x, command: [a]}", "suite.yaml:3: target: it has model and command; it must be one of them"),
        ("target:\n  model: openai/x\n  promt: x", "suite.yaml:5: target: no key 'promt'; did you mean 'prompt'?"),
        ("target: {command: python app.py}", "suite.yaml:3: target: command is 'python app.py'; write the program and its arguments as a list of texts, such as [\"python\", \"check.py\"]"),
        ("target: {python: no colon}", "suite.yaml:3: target: python is 'no colon'; write 'package.module:function'"),
        ("target:\n  python: a:b\n  timeout: 5", "suite.yaml:5: target: no key 'timeout'; a Python function takes only 'python', and 'version'"),
        ("thresholds: {pass: 2}", "suite.yaml:3: thresholds: borderline 0.0 and pass 2 must keep to 0 <= borderline <= pass <= 1"),
        ("thresholds:\n  pass: 0.8\n  bordeline: 0.5", "suite.yaml:5: thresholds: no threshold 'bordeline'; did you mean 'borderline'?"),
        ("gates: {min_meen: 1}", "suite.yaml:3: gates: no gate 'min_meen'; did you mean 'min_mean'?"),
        ("gates:\n  min_mean: 1\n  max_failed: many", "suite.yaml:5: gates: max_failed is 'many'; it must be a whole number of cases, a fraction below 1, or such as '5%'"),
        ("prices:\n  a/b: {input: 1}", "suite.yaml:4: prices: a/b: output is missing; write {input: 0.25, output: 2.0, cached_input: 0.025}, in dollars for a million tokens"),
        ("metadata: [a]", "suite.yaml:3: metadata must be a mapping, not a list"),
        ("timeout: 0", "suite.yaml:3: timeout must be a number of seconds above 0, not 0"),
        ("timeout: true", "suite.yaml:3: timeout must be a number of seconds above 0, not True"),
        ("concurrency: 1.5", "suite.yaml:3: concurrency must be a whole number, 1 or more, not 1.5"),
        ("ambiguous: never", "suite.yaml:3: ambiguous must be first, last or ask_again, not 'never'"),
        ("repeat: 0", "suite.yaml:3: repeat must be a whole number, 1 or more, not 0"),
        ("repeat: no", "suite.yaml:3: no is false to some YAML parsers and text to others; write false, or put it in quotes"),
    ],
)  # fmt: skip
def test_of_the_suite(mistakes: Mistakes, header: str, told: str) -> None:
    assert mistakes(f"evaluators: [{{type: contains}}]\n{CASE}{header}\n") == [told]


@pytest.mark.parametrize(
    ("evaluators", "told"),
    [
        ("  quality", "suite.yaml:1: evaluators must be a list of mappings such as {type: llm_judge}, not text"),
        ("- contains", "suite.yaml:2: an evaluator is a mapping with a type, such as {type: llm_judge}, not text"),
        ("- name: x\n  weight: 1", "suite.yaml:2: an evaluator needs a type, such as llm_judge; this one has only name, weight"),
        ("- {}", "suite.yaml:2: an evaluator needs a type, such as llm_judge; this one has only nothing"),
        ("- name: x\n  type: llm-jugde", "suite.yaml:3: no evaluator type 'llm-jugde'; did you mean 'llm_judge'?"),
        ("- type: llm_judge\n  template: '{{ candidate_answer }} {{ question[0] }}'", "suite.yaml:3: llm_judge: the template has {{ question[0] }}; only {{ question }} is filled in"),
        ("- type: llm_judge\n  model: openai/x", "suite.yaml:3: evaluator 'llm_judge' (llm_judge): no option 'model'; name the judge: judge: openai/x"),
        ("- type: llm_judge\n  tempelate: x", "suite.yaml:3: evaluator 'llm_judge' (llm_judge): no option 'tempelate'; did you mean 'template'?"),
        ("- type: llm_judge\n  name: q\n  template: hm", "suite.yaml:4: llm_judge 'q': the template must use {{ candidate_answer }}: it is what is judged"),
        ("- type: contains\n  weight: -1", "suite.yaml:3: contains: weight is -1; it must be a finite number, 0 or more"),
        ("- type: contains\n  required: 'no'", "suite.yaml:3: contains: required is 'no'; it must be true or false"),
        ("- type: regex", "suite.yaml:2: evaluator 'regex' (regex): value is missing"),
        ("- {type: contains}\n- {type: contains}", "suite.yaml:3: two evaluators have the name 'contains'; rename one"),
        ("- {type: contains, name: a}\n- {type: equals, name: a}", "suite.yaml:3: two evaluators have the name 'a'; rename one"),
        ("- {type: rubric}", "suite.yaml:2: evaluator 'llm_judge' (rubric): rubrics is empty; list what to check"),
        ("- {type: rubric, rubrics: []}", "suite.yaml:2: evaluator 'llm_judge' (rubric): rubrics is empty; list what to check"),
        ("- type: composite\n  members:\n  - type: contians", "suite.yaml:4: no evaluator type 'contians'; did you mean 'contains'?"),
        ("- type: composite\n  members:\n  - type: contains\n    vlaue: x", "suite.yaml:5: evaluator 'contains' (contains): no option 'vlaue'; did you mean 'value'?"),
        ("- type: composite\n  members:\n  - {type: contains}\n  aggregator: mediann", "suite.yaml:5: composite: no aggregator 'mediann'; did you mean 'median'?"),
        ("- type: llm-rubric", "suite.yaml:2: no evaluator type 'llm-rubric'; it is called 'llm_judge' here"),
        ("- type: llm_judge\n  judge: opnai/x", "suite.yaml:3: judge: no model provider 'opnai'; did you mean 'openai'?"),
        ("- type: schema\n  schema: {type: strin}", "suite.yaml:3: schema: schema: $.type: "),
    ],
)  # fmt: skip
def test_of_an_evaluator(mistakes: Mistakes, evaluators: str, told: str) -> None:
    (found,) = mistakes(f"evaluators:\n{evaluators}\n{CASE}")

    assert found.startswith(told)


@pytest.mark.parametrize(
    ("case", "told"),
    [
        ("  ouput: x", "suite.yaml:4, case \"r-3\": no key 'ouput'; did you mean 'output'?"),
        ("  input_messages: [{role: user, content: hi}]", "suite.yaml:4, case \"r-3\": no key 'input_messages'; it is called 'input' here"),
        ("  candidate_answer: 42", 'suite.yaml:4, case "r-3": candidate_answer must be text, not 42; write it in quotes'),
        ("  output: true", 'suite.yaml:4, case "r-3": output must be text, not true; write it in quotes'),
        ("  output: [a]", 'suite.yaml:4, case "r-3": output must be text, not a list'),
        ("  input: 1e3", 'suite.yaml:4, case "r-3": input must be text or a list of messages, not 1000.0; write it in quotes'),
        ("  input: {a: b}", 'suite.yaml:4, case "r-3": input must be text or a list of messages, not a mapping'),
        ("  question: [{role: user}]", "suite.yaml:4, case \"r-3\": question: a message needs a role and content, such as {'role': 'user', 'content': '…'}; got {'role': 'user'}"),
        ("  output_messages: hi", 'suite.yaml:4, case "r-3": output_messages must be a list of messages, not text'),
        ("  cluster: 7", 'suite.yaml:4, case "r-3": cluster must be text, not 7; write it in quotes'),
        ("  input: a\n  question: b", 'suite.yaml:5, case "r-3": input and question are two names for the same thing; give one'),
        ("  output: a\n  candidate_answer: b", 'suite.yaml:4, case "r-3": candidate_answer and output are two names for the same thing; give one'),
        ("  criteria: a\n  expected_outcome: b", 'suite.yaml:4, case "r-3": expected_outcome and criteria are two names for the same thing; give one'),
        ("  expected_output: a\n  reference_answer: b", 'suite.yaml:4, case "r-3": reference_answer and expected_output are two names for the same thing; give one'),
        ("  input: a\n  expected_output: [{role: user, content: Paris}]", "suite.yaml:5, case \"r-3\": expected_output: none of these messages is from the assistant, so there is no answer to compare with; write {'role': 'assistant', 'content': '…'}, or give the answer as reference_answer"),
        ("  reference_answer: []", "suite.yaml:4, case \"r-3\": reference_answer: none of these messages is from the assistant"),
        ("  latency: -1", 'suite.yaml:4, case "r-3": latency must be a number, 0 or more, not -1'),
        ("  cost: free", "suite.yaml:4, case \"r-3\": cost must be a number, 0 or more, not 'free'"),
        ("  metadata: x", 'suite.yaml:4, case "r-3": metadata must be a mapping, not text'),
        ("  evaluation_schema: [a]", 'suite.yaml:4, case "r-3": evaluation_schema must be JSON text or a mapping, not a list'),
        ("  evaluation_schema: true", 'suite.yaml:4, case "r-3": evaluation_schema must be JSON text or a mapping, not true or false'),
        ("  evaluation_schema: '{\"type\": 1'", 'suite.yaml:4, case "r-3": evaluation_schema: not JSON'),
        ("  evaluation_schema: {$ref: 'http://127.0.0.1/x'}", "suite.yaml:4, case \"r-3\": evaluation_schema: it refers to 'http://127.0.0.1/x', which is elsewhere"),
        ("  rubrics: hm", 'suite.yaml:4, case "r-3": rubrics must be a list of items, not str'),
        ("  rubrics: [{id: a}]", "suite.yaml:4, case \"r-3\": rubrics: item 1: rubric 'a': description is empty"),
        ("  evaluators: []", 'suite.yaml:4, case "r-3": evaluators is empty; leave it out to use those of the suite'),
        ("  evaluators: contains", 'suite.yaml:4, case "r-3": evaluators must be a list'),
        ("  evaluators:\n  - first\n  - secnd", "suite.yaml:6, case \"r-3\": the suite has no evaluator named 'secnd'; did you mean 'second'?"),
        ("  evaluators:\n  - type: llm-jugde", "suite.yaml:5, case \"r-3\": no evaluator type 'llm-jugde'; did you mean 'llm_judge'?"),
        ("  evaluators: [first, first]", "suite.yaml:4, case \"r-3\": two evaluators have the name 'first'; rename one"),
        ("  evaluators: [{type: contains, name: rubric}]\n  rubrics: [x]", "suite.yaml:4, case \"r-3\": two evaluators have the name 'rubric' (its rubrics are checked by one of that name); rename one"),
        ("  input: a\n  input: b", "suite.yaml:5, case \"r-3\": duplicate key 'input'; first in line 4"),
    ],
)  # fmt: skip
def test_of_a_case(mistakes: Mistakes, case: str, told: str) -> None:
    head = "evaluators: [{name: first, type: contains}, {name: second, type: equals}]\ncases:\n- id: r-3\n"

    (found,) = mistakes(f"{head}{case}\n")

    assert found.startswith(told)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("5", "suite.yaml:3, case 1: id must be text, not 5; write it in quotes"),
        ("''", "suite.yaml:3, case 1: id is empty; leave it out, or write some text"),
        ("' '", "suite.yaml:3, case 1: id is empty; leave it out, or write some text"),
        ("x" * 201, "suite.yaml:3, case 1: id has 201 characters; at most 200 are allowed"),
        ('"a\\tb"', "suite.yaml:3, case 1: id contains the control character U+0009; remove it"),
        ('"a\\x9bb"', "suite.yaml:3, case 1: id contains the control character U+009B; remove it"),
    ],
)
def test_of_an_id(mistakes: Mistakes, written: str, told: str) -> None:
    assert mistakes(f"evaluators: [{{type: contains}}]\ncases:\n- id: {written}\n") == [told]


@pytest.mark.parametrize("case", ["just text", "[a]", "12", "null"])
def test_of_what_is_no_case(mistakes: Mistakes, case: str) -> None:
    (found,) = mistakes(f"evaluators: [{{type: contains}}]\ncases:\n- {{id: a}}\n- {case}\n")

    assert found.startswith(
        "suite.yaml:4, case 2: a case is a mapping with keys such as input and candidate_answer, not "
    )


def test_of_a_case_that_nothing_judges(mistakes: Mistakes) -> None:
    assert mistakes("cases:\n- {id: a}\n- {id: b, rubrics: [x]}\n") == [
        'suite.yaml:2, case "a": nothing judges this case; list evaluators, in the suite or here'
    ]


def test_an_id_that_stands_twice_names_both_lines(mistakes: Mistakes) -> None:
    text = "evaluators: [{type: contains}]\ncases:\n- {id: a}\n- {id: b}\n- {id: a}\n- {id: b}\n- {id: a}\n- {id: a}\n"

    assert mistakes(text) == [
        'suite.yaml:5, case "a": duplicate id, first in line 3; ids must differ',
        'suite.yaml:6, case "b": duplicate id, first in line 4; ids must differ',
        'suite.yaml:7, case "a": duplicate id, first in line 3; ids must differ',
        'suite.yaml:8, case "a": duplicate id; ids must differ',
    ]


def test_ids_on_one_line_are_told_apart_too(mistakes: Mistakes) -> None:
    text = '{"evaluators": [{"type": "contains"}], "cases": [{"id": "a"}, {"id": "b"}, {"id": "a"}]}'

    assert mistakes(text, "suite.json") == ['suite.json:1, case "a": duplicate id, first in line 1; ids must differ']


def test_a_huge_key_is_no_riddle(mistakes: Mistakes) -> None:
    Path("cases.yaml").write_text("evaluators: [{type: contains}]\n", encoding="utf-8")

    (found,) = mistakes('{"' + "x" * 1_000_000 + '": 1}', "cases.jsonl")

    assert found.startswith("cases.jsonl:1, case 1: no key 'xxx")
    assert len(found) < 500


def test_all_mistakes_are_found_at_once_and_each_once(mistakes: Mistakes) -> None:
    found = mistakes(
        "judge: {model: openai/x, api_key: sk-123}\n"
        "evaluators:\n- {type: llm-jugde}\n- {type: contains, vlaue: x}\n"
        "timeut: 5\n"
        "cases:\n- {id: a, input: no, output: 3}\n- {id: b}\n- {id: c, ouput: x}\n"
    )

    assert [one.partition(" ")[0].rstrip(",:") for one in found] == [
        "suite.yaml:1", "suite.yaml:3", "suite.yaml:4", "suite.yaml:5", "suite.yaml:7", "suite.yaml:7", "suite.yaml:9",
    ]  # fmt: skip
    assert len(set(found)) == len(found)


def test_after_a_hundred_there_are_more(mistakes: Mistakes) -> None:
    found = mistakes("evaluators: [{type: contains}]\ncases:\n" + "- {ouput: x}\n" * 150)

    assert len(found) == MOST_PROBLEMS + 1
    assert found[-1] == "and more"
    assert found[-2].startswith("suite.yaml:102, case 100: ")


def test_one_mistake_in_thousands_of_cases_is_named_exactly(mistakes: Mistakes) -> None:
    cases = [f"- {{id: case-{number}, output: x}}\n" for number in range(3000)]
    cases[2345] = "- id: odd\n  ouput: x\n"

    found = mistakes("evaluators: [{type: contains}]\ncases:\n" + "".join(cases))

    assert found == ["suite.yaml:2349, case \"odd\": no key 'ouput'; did you mean 'output'?"]


def test_what_cannot_be_read_any_further_is_the_last_mistake(mistakes: Mistakes) -> None:
    found = mistakes("evaluators: [{type: contains}]\ncases:\n- {id: a, ouput: x}\n- {id: b\n")

    assert found == [
        "suite.yaml:3, case \"a\": no key 'ouput'; did you mean 'output'?",
        "suite.yaml:4: a mapping that is opened with { is not closed, or lacks a comma",
    ]


def test_a_run_stops_at_the_first_mistake() -> None:
    Path("suite.yaml").write_text(
        "evaluators: [{type: contains}]\ncases:\n- {id: a}\n- {ouput: x}\n- {ouput: y}\n", encoding="utf-8"
    )

    cases = read_suite("suite.yaml").cases()

    assert next(cases).case.id == "a"
    with pytest.raises(ConfigError) as raised:
        next(cases)
    assert [str(raised.value)] == problems("suite.yaml")[:1]


def test_a_run_refuses_a_suite_with_a_mistake_beside_the_cases() -> None:
    Path("suite.yaml").write_text("evaluators: [{type: contians}]\ntimeout: -1\ncases:\n- {id: a}\n", encoding="utf-8")

    with pytest.raises(ConfigError) as raised:
        read_suite("suite.yaml")
    assert [str(raised.value)] == problems("suite.yaml")[:1]


def test_a_missing_key_is_a_note_and_no_mistake() -> None:
    Path("suite.yaml").write_text(
        "judge: openai/x\n"
        "target: {model: anthropic/y, api_key: '${NOT_SET}'}\n"
        "evaluators: [{type: llm_judge}, {name: b, type: llm_judge, judge: groq/z}]\n"
        "cases: [{id: a}]\n",
        encoding="utf-8",
    )

    checked = check("suite.yaml")

    assert checked.problems == ()
    assert checked.cases == 1
    assert checked.notes == (
        "suite.yaml:1: judge: openai/x needs an API key: set OPENAI_API_KEY, or give api_key",
        "suite.yaml:2: target: anthropic/y: api_key refers to NOT_SET, which is not set",
        "suite.yaml:3: judge: groq/z needs an API key: set GROQ_API_KEY, or give api_key",
    )


def test_old_names_are_noted_once(recwarn: pytest.WarningsRecorder) -> None:
    Path("suite.yaml").write_text(
        "evaluators: [{name: r, type: rubric, rubrics: [x]}]\ncases:\n"
        + "".join(f"- {{id: c{n}, output: x, evaluators: [{{type: code, command: [judge{n}]}}]}}\n" for n in range(3)),
        encoding="utf-8",
    )

    checked = check("suite.yaml")

    assert checked.notes == (
        "suite.yaml:1: evaluator 'r': 'rubric' is an old name; write 'llm_judge'",
        "suite.yaml:3: evaluator 'code_judge': 'code' is an old name; write 'code_judge'",
    )
    assert checked.problems == ()
    assert not recwarn.list


def test_strict_is_noted_as_an_old_name(recwarn: pytest.WarningsRecorder) -> None:
    Path("suite.yaml").write_text(
        "evaluators:\n- {name: a, type: llm_judge, strict: true, judge: ollama/x}\n- {name: b, judge: ollama/x, type: llm_judge, strict: false}\n"
        "cases: [{id: c, output: x}]\n",
        encoding="utf-8",
    )

    checked = check("suite.yaml")

    assert checked.notes == (
        "suite.yaml:2: evaluator 'a': 'strict' is an old name; write ambiguous: ask_again",
        "suite.yaml:3: evaluator 'b': 'strict' is an old name; write ambiguous: first",
    )
    assert checked.problems == ()
    assert not recwarn.list


def test_a_mistake_in_what_the_command_gives_names_no_line() -> None:
    Path("suite.yaml").write_text("evaluators: [{type: contains}]\ncases: [{id: a}]\n", encoding="utf-8")

    with pytest.raises(ConfigError, match=r"^judge: no model provider 'opnai'; did you mean 'openai'\?$"):
        read_suite("suite.yaml", judge="opnai/x")
    with pytest.raises(ConfigError, match=r"^target: no model provider 'opnai'; did you mean 'openai'\?$"):
        read_suite("suite.yaml", target="opnai/x")


def test_every_wrong_item_of_a_rubric_is_named(mistakes: Mistakes) -> None:
    rubrics = "[Kind, {description: Fair, weight: -1}, {description: ''}, 7]"

    of_evaluator = mistakes(f"evaluators:\n- type: llm_judge\n  rubrics: {rubrics}\n  weight: -1\n{CASE}")
    of_case = mistakes(f"evaluators: [{{type: llm_judge}}]\ncases:\n- id: a\n  rubrics: {rubrics}\n")

    assert [problem.partition("rubrics: ")[2].partition(";")[0] for problem in (*of_evaluator[:3], *of_case)] == [
        "item 2: rubric 'rubric-2': weight is -1",
        "item 3: rubric 'rubric-3': description is empty",
        "item 4 must be text or a mapping with a description, not int",
    ] * 2
    assert of_evaluator[3:] == ["suite.yaml:4: llm_judge: weight is -1; it must be a finite number, 0 or more"]
