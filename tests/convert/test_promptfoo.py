"""Configurations of promptfoo as suites."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evenhand import Scripted, Verdict, evaluate
from evenhand.convert.conversion import convert
from evenhand.convert.source import read_value
from evenhand.domain.errors import ConfigError
from evenhand.suites.suite import check
from evenhand.suites.values import plain


def converted(folder: Path, text: str) -> tuple[dict[str, Any], list[str]]:
    """Return the suite of a configuration, and what was left, without the name of the file."""
    path = folder / "promptfooconfig.yaml"
    path.write_text(text)
    conversion = convert(path)
    (folder / "suite.yaml").write_text(conversion.text)
    assert check(folder / "suite.yaml").problems == ()
    suite = plain(read_value(folder / "suite.yaml", name="suite.yaml"))
    return suite, [line.removeprefix(f"{path}:") for line in conversion.left]


def with_asserts(*asserts: str, more: str = "") -> str:
    lines = "".join(f"      - {{{each}}}\n" for each in asserts)
    return f'prompts: ["{{{{q}}}}"]\nproviders: [ollama:chat:x]\ntests:\n  - vars: {{q: Hi, w: World}}\n{more}    assert:\n{lines}'


def test_a_prompt_with_one_variable_is_the_targets_and_its_value_the_input(tmp_path: Path) -> None:
    text = (
        'prompts: ["Reply to: {{ mail }}"]\nproviders: [openai:gpt-5-mini]\ntests: [{vars: {mail: Hello, tone: kind}}]'
    )

    suite, left = converted(tmp_path, text)

    assert suite["target"] == {"model": "openai/gpt-5-mini", "prompt": "Reply to: {{ input }}"}
    assert suite["cases"][0]["input"] == "Hello"
    assert suite["cases"][0]["metadata"] == {"tone": "kind"}
    assert left == []


def test_a_prompt_with_several_variables_is_filled_in_for_each_case(tmp_path: Path) -> None:
    text = 'prompts: ["{{ a }} and {{b}}"]\nproviders: [ollama:chat:llama3.2:1b]\ntests: [{vars: {a: x, b: 2}}]'

    suite, left = converted(tmp_path, text)

    assert suite["target"] == "ollama/llama3.2:1b"
    assert (suite["cases"][0]["input"], left) == ("x and 2", [])


def test_a_chat_prompt_becomes_messages(tmp_path: Path) -> None:
    (tmp_path / "chat.json").write_text(
        '[{"role": "system", "content": "Be {{ tone }}."}, {"role": "user", "content": "{{ q }}"}]'
    )
    text = "prompts: [file://chat.json]\nproviders: [openai:gpt-5-mini]\ntests: [{vars: {tone: kind, q: Hi}}]"

    suite, left = converted(tmp_path, text)

    assert suite["cases"][0]["input"] == [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]
    assert left == []


def test_lists_of_values_make_a_case_for_each_combination(tmp_path: Path) -> None:
    text = 'prompts: ["{{a}}"]\nproviders: [openai:x]\ntests: [{description: all, vars: {a: [one, two], b: [3, 4]}}]'

    suite, _ = converted(tmp_path, text)

    cases = [(case["id"], case["input"], case["metadata"]["b"]) for case in suite["cases"]]
    assert cases == [("all", "one", 3), ("all 2", "one", 4), ("all 3", "two", 3), ("all 4", "two", 4)]


def test_too_many_combinations_are_listed_and_not_made(tmp_path: Path) -> None:
    values = ", ".join(f"v{number}: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]" for number in range(5))
    text = f'prompts: ["{{{{q}}}}"]\nproviders: [openai:x]\ntests:\n  - vars: {{{values}}}\n  - vars: {{q: a}}\n'

    suite, left = converted(tmp_path, text)

    assert len(suite["cases"]) == 1
    assert left == ["4: test 1 is not carried over: its lists make more than 10,000 combinations"]


def test_variables_are_filled_into_what_is_expected(tmp_path: Path) -> None:
    suite, left = converted(tmp_path, with_asserts('type: contains, value: "Hello, {{ w }}"'))

    assert suite["evaluators"] == [{"name": "contains", "type": "contains", "value": "Hello, World", "required": True}]
    assert left == []


def test_asserts_that_all_tests_share_stand_in_the_suite_once(tmp_path: Path) -> None:
    text = (
        'prompts: ["{{q}}"]\nproviders: [openai:x]\ndefaultTest: {assert: [{type: contains, value: a}]}\n'
        "tests: [{vars: {q: one}}, {vars: {q: two}, assert: [{type: contains, value: b}]}]"
    )

    suite, _ = converted(tmp_path, text)

    assert [each["value"] for each in suite["evaluators"]] == ["a"]
    assert "evaluators" not in suite["cases"][0]
    assert suite["cases"][1]["evaluators"][0] == "contains"


@pytest.mark.parametrize(
    ("written", "answer", "verdict"),
    [
        ("type: equals, value: 42", "42", Verdict.PASS),
        ("type: equals, value: {a: 1}", '{"a": 1.0}', Verdict.PASS),
        ("type: equals, value: {a: 1}", '{"a": 1, "b": 2}', Verdict.FAIL),
        ("type: not-equals, value: x", "x", Verdict.FAIL),
        ("type: contains-any, value: 'a, \"b, c\"'", "b, c", Verdict.PASS),
        ("type: contains-all, value: [a, b]", "a", Verdict.FAIL),
        ("type: icontains, value: OH", "oh yes", Verdict.PASS),
        ("type: starts-with, value: oh", "oh yes", Verdict.PASS),
        ("type: regex, value: '^oh'", "oh yes", Verdict.PASS),
        ("type: is-json, value: {required: [a]}", "{}", Verdict.FAIL),
        ("type: contains-json", 'Here: {"a": 1}', Verdict.PASS),
        ("type: levenshtein, value: abcdefghij, threshold: 2", "abcdefghxy", Verdict.PASS),
        ("type: levenshtein, value: abcdefghij, threshold: 2", "abcdefgxyz", Verdict.FAIL),
        ("type: rouge-n, value: the cat sat here", "the cat sat there", Verdict.PASS),
        ("type: rouge-n, value: the cat sat here, threshold: 0.8", "the cat sat there", Verdict.FAIL),
        ("type: bleu, value: [A cat is a cat, The cat sat on the mat]", "the cat sat on the mat", Verdict.PASS),
        ("type: bleu, value: The cat sat on the mat", "On the mat there was a cat", Verdict.FAIL),
    ],
)
def test_a_case_passes_as_the_test_does(tmp_path: Path, written: str, answer: str, verdict: Verdict) -> None:
    converted(tmp_path, with_asserts(written))

    run = evaluate(tmp_path / "suite.yaml", target=lambda case: answer, store=None)

    assert next(iter(run)).outcome.verdict is verdict


def test_one_failed_assert_fails_the_case_unless_its_weight_is_0(tmp_path: Path) -> None:
    good, bad = "type: contains, value: a", "type: contains, value: z"
    verdicts = []
    for asserts in ([good, good, good, bad], [good, f"{bad}, weight: 0"]):
        converted(tmp_path, with_asserts(*asserts))
        (result,) = evaluate(tmp_path / "suite.yaml", target=lambda case: "a", store=None)
        verdicts.append(result.outcome.verdict)

    assert verdicts == [Verdict.FAIL, Verdict.PASS]


def test_a_threshold_of_all_tests_is_that_of_the_suite(tmp_path: Path) -> None:
    asserts = ("type: contains, value: a", "type: contains, value: z")

    suite, left = converted(tmp_path, with_asserts(*asserts, more="    threshold: 0.5\n"))
    run = evaluate(tmp_path / "suite.yaml", target=lambda case: "a", store=None)

    assert suite["thresholds"] == {"pass": 0.5, "borderline": 0.5}
    assert (next(iter(run)).outcome.verdict, next(iter(run)).outcome.score, left) == (Verdict.PASS, 0.5, [])


def test_a_set_of_asserts_is_a_composite(tmp_path: Path) -> None:
    members = "assert: [{type: contains, value: a}, {type: contains, value: z}]"

    suite, left = converted(tmp_path, with_asserts(f"type: assert-set, threshold: 0.5, metric: both, {members}"))
    run = evaluate(tmp_path / "suite.yaml", target=lambda case: "a", store=None)

    assert [each["name"] for each in suite["evaluators"][0]["members"]] == ["contains", "contains 2"]
    assert (next(iter(run)).outcome.verdict, left) == (Verdict.PASS, [])


def test_a_test_without_asserts_is_not_judged_and_says_so(tmp_path: Path) -> None:
    suite, _ = converted(tmp_path, with_asserts("type: python, value: 'True'"))

    assert suite["evaluators"] == [
        {"name": "unjudged", "type": "unjudged", "why": "No assert of the test was carried over."}
    ]


def test_a_test_whose_variable_cannot_be_read_is_left_whole(tmp_path: Path) -> None:
    text = (
        'prompts: ["{{q}}"]\nproviders: [openai:x]\ndefaultTest: {vars: {q: usual}}\n'
        "tests:\n  - vars: {q: file://../secret.txt}\n  - vars: {q: a}\n"
    )
    (tmp_path.parent / "secret.txt").write_text("secret")

    suite, left = converted(tmp_path, text)

    assert [case["input"] for case in suite["cases"]] == ["a"]
    (line,) = left
    assert line.startswith("5: test 1 is not carried over: vars: q: file '../secret.txt': it is not in the folder")


@pytest.mark.parametrize(
    ("identity", "ours"),
    [
        ("openai:gpt-5-mini", "openai/gpt-5-mini"),
        ("openai:responses:gpt-5", "openai/gpt-5"),
        ("google:gemini-2.5-flash", "gemini/gemini-2.5-flash"),
        ("azureopenai:chat:desk", None),
        ("togetherai:chat:meta/llama", "together/meta/llama"),
        ("vertex:gemini-2.5-flash", "vertex/gemini-2.5-flash"),
        ("vertex:claude-x", None),
        ("bedrock:us.anthropic.claude-x-v1:0", None),
        ("openai:embedding:text-embedding-3-small", None),
        ("exec: python provider.py", None),
        ("file://provider.js", None),
        ("https://example.com/answer", None),
    ],
)
def test_a_provider_is_a_model_or_is_listed(tmp_path: Path, identity: str, ours: str | None) -> None:
    suite, left = converted(
        tmp_path, f'prompts: ["{{{{a}}}} {{{{b}}}}"]\nproviders: ["{identity}"]\ntests: [{{vars: {{a: 1, b: 2}}}}]'
    )

    assert suite.get("target") == ours
    assert len(left) == (ours is None)


def test_the_settings_of_a_provider_are_those_of_the_model(tmp_path: Path) -> None:
    config = "{apiHost: desk.openai.azure.com, apiKeyEnvar: DESK_KEY, temperature: 0, max_tokens: 50}"

    suite, left = converted(
        tmp_path,
        f'prompts: ["{{{{a}}}} {{{{b}}}}"]\nproviders: [{{id: azure:chat:desk, config: {config}}}]\n'
        "tests: [{vars: {a: 1, b: 2}}]",
    )

    assert left == []
    assert suite["target"] == {
        "model": "azure/desk",
        "base_url": "https://desk.openai.azure.com",
        "temperature": 0,
        "max_tokens": 50,
        "api_key": "${DESK_KEY}",
    }


@pytest.mark.parametrize(
    ("identity", "config", "target"),
    [
        (
            "bedrock:us.anthropic.claude-x-v1:0",
            "{temperature: 0, region: us-west-2}",
            {"model": "bedrock/us.anthropic.claude-x-v1:0", "region": "us-west-2", "temperature": 0},
        ),
        (
            "bedrock:converse:amazon.nova-lite-v1:0",
            "{region: eu-west-1, maxTokens: 50}",
            {"model": "bedrock/amazon.nova-lite-v1:0", "region": "eu-west-1", "max_tokens": 50},
        ),
        (
            "vertex:gemini-2.5-flash",
            "{region: europe-west4, projectId: ours, apiKeyEnvar: TOKEN}",
            {
                "model": "vertex/gemini-2.5-flash",
                "project": "ours",
                "location": "europe-west4",
                "api_key": "${TOKEN}",
            },
        ),
    ],
)
def test_where_a_model_of_a_cloud_is_asked_is_carried_over(
    tmp_path: Path, identity: str, config: str, target: dict[str, Any]
) -> None:
    suite, left = converted(
        tmp_path,
        f'prompts: ["{{{{a}}}} {{{{b}}}}"]\nproviders: [{{id: "{identity}", config: {config}}}]\n'
        "tests: [{vars: {a: 1, b: 2}}]",
    )

    assert left == []
    assert suite["target"] == target


def test_keys_of_an_account_that_are_written_out_stay_out_of_the_suite_and_the_list(tmp_path: Path) -> None:
    config = "{region: us-west-2, accessKeyId: AKIDSECRET, secretAccessKey: sk-secret, sessionToken: st-secret}"

    suite, left = converted(
        tmp_path,
        f'prompts: ["{{{{q}}}}"]\nproviders: [{{id: "bedrock:x.y", config: {config}}}]\ntests: [{{vars: {{q: a}}}}]',
    )

    assert suite["target"]["model"] == "bedrock/x.y"
    said = (tmp_path / "suite.yaml").read_text() + "".join(left)
    assert not any(key in said for key in ("AKIDSECRET", "sk-secret", "st-secret"))
    assert [line.split(" is ")[0] for line in left] == [
        f"2: provider 1: config: {key}" for key in ("accessKeyId", "secretAccessKey", "sessionToken")
    ]


def test_a_key_that_is_written_out_stays_out_of_the_suite_and_the_list(tmp_path: Path) -> None:
    text = (
        'prompts: ["{{q}}"]\nproviders: [{id: openai:x, config: {apiKey: sk-secret, temperature: 0}}]\n'
        "tests: [{vars: {q: a}}]"
    )

    suite, left = converted(tmp_path, text)

    assert suite["target"] == {"model": "openai/x", "temperature": 0, "prompt": "{{ input }}"}
    assert "sk-secret" not in (tmp_path / "suite.yaml").read_text()
    assert [line.split(" is ")[0] for line in left] == ["2: provider 1: config: apiKey"]


def test_settings_that_a_suite_cannot_have_are_listed(tmp_path: Path) -> None:
    suite, left = converted(
        tmp_path,
        'prompts: ["{{q}}"]\nproviders: [openai:x]\nevaluateOptions: {repeat: 0}\ntests: [{vars: {q: a}}]',
    )

    assert "repeat" not in suite
    assert left == [
        "promptfooconfig.yaml:1: repeat is not carried over: repeat must be a whole number, 1 or more, not 0"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prompts: &a [x]\ntests: *a\n", "is an anchor"),
        ("prompts: [x]\nprompts: [y]\n", "duplicate key"),
        ("prompts: !!python/object/apply:os.system [x]\n", "the tag"),
        ("prompts: [x]\ntests: [{vars: {a: yes}}]\n", "yes is true to some YAML parsers"),
        ("prompts: [x]\n", "there is no case that could be carried over"),
    ],
)
def test_a_file_that_is_not_plain_data_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        converted(tmp_path, text)


def test_rows_of_a_table_are_tests(tmp_path: Path) -> None:
    (tmp_path / "tests.csv").write_text(
        'q,__expected,__expected2,__description\n"Hi,\nyou",contains: b,Paris,first\nyo,not-icontains: c,,\n'
    )

    suite, left = converted(tmp_path, 'prompts: ["{{q}}"]\nproviders: [openai:x]\ntests: file://tests.csv')

    first, second = suite["cases"]
    assert (first["id"], first["input"]) == ("first", "Hi,\nyou")
    assert [(each["type"], each["value"]) for each in first["evaluators"]] == [("contains", "b"), ("equals", "Paris")]
    assert second["evaluators"][0]["negate"] is True
    assert left == []


def about_context(*asserts: str, values: str = "{q: Hi, context: Returns for 30 days.}") -> str:
    return with_asserts(*asserts).replace("{q: Hi, w: World}", values)


def test_asserts_about_the_context_are_judged_by_ready_prompts(tmp_path: Path) -> None:
    text = about_context(
        "type: context-faithfulness, threshold: 0.9",
        "type: context-recall, value: 30 days, threshold: 1",
        "type: answer-relevance, metric: relevant",
    )

    suite, left = converted(tmp_path, text)

    (case,) = suite["cases"]
    assert (case["context"], case["reference_answer"], "metadata" in case) == ("Returns for 30 days.", "30 days", False)
    assert [(each["name"], each["prompt"], each["thresholds"]["pass"]) for each in suite["evaluators"]] == [
        ("faithfulness", "faithfulness", 0.9),
        ("context_recall", "context_recall", 1.0),
        ("relevant", "answer_relevance", 0.0),
    ]
    assert left == [
        "7: assert 'context-recall': its value is the reference answer of the case, which all judges of the case read"
    ]


def test_a_score_by_a_ready_prompt_passes_from_the_threshold_on(tmp_path: Path) -> None:
    converted(tmp_path, about_context("type: context-faithfulness, threshold: 0.5", values="{q: Hi, context: [a, b]}"))
    replies = [f'{{"reasoning": "", "hits": [], "misses": [], "score": {score}}}' for score in (0.5, 0.4)]

    for reply, verdict in zip(replies, (Verdict.PASS, Verdict.FAIL), strict=True):
        judge = Scripted([reply])
        run = evaluate(tmp_path / "suite.yaml", judge=judge, target=lambda case: "Yes.", store=None)
        assert [(each.outcome.verdict, len(each.case.documents)) for each in run] == [(verdict, 2)]


@pytest.mark.parametrize(
    ("written", "values", "reason"),
    [
        ("type: context-faithfulness", "{q: Hi}", "it needs the variable context: a text, or a list of texts"),
        ("type: context-relevance", "{q: Hi, context: 7}", "it needs the variable context: a text, or a list of texts"),
        ("type: context-recall", "{q: Hi, context: a}", "it has no value"),
        ("type: not-context-faithfulness", "{q: Hi, context: a}", "its opposite cannot be judged"),
        (
            "type: context-faithfulness, contextTransform: output.context", "{q: Hi, context: a}",
            "its context is what a program takes out of the output; give cases a context",
        ),
    ],
)  # fmt: skip
def test_an_assert_about_a_context_that_there_is_not_is_left(
    tmp_path: Path, written: str, values: str, reason: str
) -> None:
    suite, left = converted(tmp_path, about_context(written, values=values))

    assert [line.split(" is not carried over: ")[1] for line in left] == [reason]
    assert suite["evaluators"][0]["type"] == "unjudged"


def test_what_differs_in_judging_a_context_is_listed(tmp_path: Path) -> None:
    values = "{q: Hi, query: What?, context: [a, b]}"
    helps = "the judge scores whether the context helps to answer, not which share of its sentences is needed"
    one = "a case has one reference answer, and that is the value of another context-recall"
    recalls = ("type: context-recall, value: one", "type: context-recall, value: two")

    suite, left = converted(tmp_path, about_context("type: context-relevance", *recalls, values=values))

    assert (len(suite["cases"]), suite["cases"][0]["context"]) == (1, ["a", "b"])
    assert suite["cases"][0]["metadata"] == {"query": "What?"}
    assert [line.split(": ", 1)[1] for line in left if "reads" not in line and "all judges" not in line] == [
        "test 1: the list under context is one context of several documents",
        f"assert 'context-relevance': {helps}",
        f"assert 'context-recall' is not carried over: {one}",
    ]
    assert any("reads the whole input of the case as the question" in line for line in left)


SEVERAL = """
prompts: ["Capital of {{country}}?"]
providers: [openai:gpt-5-mini, {id: "ollama:chat:llama3.2:1b", config: {temperature: 0}}, python:mine.py]
tests:
  - {vars: {country: France}, assert: [{type: contains, value: Paris}]}
"""


def test_several_providers_are_targets_that_all_answer(tmp_path: Path) -> None:
    suite, left = converted(tmp_path, SEVERAL)

    targets = suite["target"]
    assert [(target["model"], target["prompt"]) for target in targets] == [
        ("openai/gpt-5-mini", "Capital of {{ input }}?"), ("ollama/llama3.2:1b", "Capital of {{ input }}?"),
    ]  # fmt: skip
    assert targets[1]["temperature"] == 0
    assert [line for line in left if "python:mine.py" in line]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("vars: {", "providerOutput: Lyon, vars: {"), "a test has its output already"),
        (("country: France", "country: France, model: big"), "a test has the variable 'model'"),
    ],
)
def test_where_several_could_not_answer_the_first_does_and_the_others_are_listed(
    tmp_path: Path, change: tuple[str, str], reason: str
) -> None:
    suite, left = converted(tmp_path, SEVERAL.replace(*change))

    assert suite["target"]["model"] == "openai/gpt-5-mini"
    assert any("ollama:chat:llama3.2:1b" in line and reason in line for line in left)


PROMPTS = """
prompts:
  - "Capital of {{country}}?"
  - {label: kind, raw: "Dear {{ name }}, the capital of {{ country }}, please."}
  - [{role: system, content: "Be {{ tone }}."}, {role: user, content: "{{ country }}?"}]
  - [{role: user, content: Hi}, {role: assistant, content: Hello}, {role: user, content: "{{ country }}?"}]
  - Hello!
providers: [openai:gpt-5-mini]
tests:
  - {vars: {country: France, name: Ada, tone: brief}, assert: [{type: contains, value: Paris}]}
  - {vars: {country: Peru, name: Ada}, assert: [{type: contains, value: Lima}]}
"""


def test_several_prompts_are_asked_each_with_the_variables_of_the_case(tmp_path: Path) -> None:
    suite, left = converted(tmp_path, PROMPTS)

    assert suite["target"] == {
        "model": "openai/gpt-5-mini",
        "prompts": {
            "prompt 1": "Capital of {{ input }}?",
            "kind": "Dear {{ name }}, the capital of {{ input }}, please.",
            "prompt 3": {"system": "Be {{ tone }}.", "prompt": "{{ input }}?"},
        },
    }
    assert [(case["input"], case["metadata"]) for case in suite["cases"]] == [
        ("France", {"name": "Ada", "tone": "brief"})
    ]
    why = "of several prompts, each must have a variable and be a text, or a system message and a user message"
    assert left == [
        f"6: prompt 4 is not carried over: {why}",
        f"7: prompt 5 is not carried over: {why}",
        "11: test 2 is not carried over: the prompt uses the variable 'tone', which has no value",
    ]


def test_every_provider_is_asked_with_every_prompt(tmp_path: Path) -> None:
    providers = 'providers: [openai:gpt-5-mini, {id: "ollama:chat:llama3.2:1b", config: {temperature: 0}}]'

    suite, _ = converted(tmp_path, PROMPTS.replace("providers: [openai:gpt-5-mini]", providers))

    assert suite["target"]["models"] == ["openai/gpt-5-mini", {"model": "ollama/llama3.2:1b", "temperature": 0}]
    assert list(suite["target"]["prompts"]) == ["prompt 1", "kind", "prompt 3"]


def test_a_question_is_the_input_in_whichever_order_the_variables_are_used(tmp_path: Path) -> None:
    prompts = 'prompts: ["{{style}}: {{question}}", "{{question}}!"]\nproviders: [openai:x]\n'

    suite, left = converted(tmp_path, f"{prompts}tests: [{{vars: {{style: Brief, question: Why}}}}]")

    assert list(suite["target"]["prompts"].values()) == ["{{ style }}: {{ input }}", "{{ input }}!"]
    assert (suite["cases"][0]["input"], suite["cases"][0]["metadata"]) == ("Why", {"style": "Brief"})
    assert not left


@pytest.mark.parametrize(
    ("prompts", "values", "reason"),
    [
        ('["{{input}}", "{{question}}"]', "{input: a, question: b}", "named input and question cannot be told apart"),
        ('["{{q}}", "{{q}}!"]', "{q: a, prompt: b}", "a test has the variable 'prompt'"),
    ],
)
def test_where_prompts_could_not_be_told_apart_the_first_is_carried_over_and_the_other_listed(
    tmp_path: Path, prompts: str, values: str, reason: str
) -> None:
    suite, left = converted(tmp_path, f"prompts: {prompts}\nproviders: [openai:x]\ntests: [{{vars: {values}}}]")

    assert suite["target"] == {"model": "openai/x", "prompt": "{{ input }}"}
    assert suite["cases"][0]["input"] == "a"
    assert any("prompt 2 is not carried over" in line and reason in line for line in left)


def test_without_a_provider_that_could_ask_the_first_prompt_is_the_input_and_the_others_are_listed(
    tmp_path: Path,
) -> None:
    text = 'prompts: ["Capital of {{country}}?", "{{country}}"]\nproviders: [python:mine.py]\n'

    suite, left = converted(tmp_path, f"{text}tests: [{{vars: {{country: Peru}}}}]")

    assert "target" not in suite
    assert suite["cases"][0]["input"] == "Capital of Peru?"
    assert "1: prompt 2 is not carried over: there is no target that could ask with it" in left
